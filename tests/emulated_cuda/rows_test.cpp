// Kernels over every number type that an adjoint has: right, and the same bits in every order of
// threads and blocks.
#include "emulated_cuda/kernels/rows.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "emulated_cuda/device_vector.h"
#include "num/number_types.h"
#include "support/difference.h"

namespace saddle {
namespace {

constexpr int64_t kRows = 5;
constexpr int64_t kCols = 200;  // no multiple of the threads

template <class S>
class RowKernels : public EmulatedCuda {
 protected:
  using PlaneType = num::Plane<S>;
  static constexpr int kPlanes = num::kPlanes<S>;

  RowKernels() : x_(static_cast<size_t>(kPlanes * kRows * kCols)) {
    const RandomStream random(1, RandomPurpose::kTest);
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<PlaneType>(random.normal(i));
  }

  double value(int64_t row, int64_t col, int plane) const {
    return x_[static_cast<size_t>((plane * kRows + row) * kCols + col)];
  }

  std::vector<PlaneType> x_;
};

using Numbers = ::testing::Types<float, double, num::Dual<float>, num::Dual<double>>;
TYPED_TEST_SUITE(RowKernels, Numbers);

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TYPED_TEST(RowKernels, SumOfEachRow) {
  using T = typename TestFixture::PlaneType;
  DeviceVector<T> x(this->x_);
  std::vector<T> first;
  for (const uint64_t order : {0u, 1u, 2u, 3u}) {
    emulated::set_order(order);
    DeviceVector<T> sums(static_cast<size_t>(TestFixture::kPlanes * kRows));
    const Stream stream;
    sum_rows<TypeParam>(x.data(), sums.data(), kRows, kCols, stream);
    stream.wait();
    const std::vector<T> found = sums.to_host();
    if (order == 0) first = found;
    EXPECT_TRUE(same_bits(found, first)) << "order " << order;
  }
  for (int plane = 0; plane < TestFixture::kPlanes; ++plane) {
    for (int64_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (int64_t col = 0; col < kCols; ++col) sum += this->value(row, col, plane);
      // 200 numbers of size 1 in about 10 steps of rounding.
      const double tolerance = 200 * 10 * std::numeric_limits<T>::epsilon();
      EXPECT_NEAR(first[static_cast<size_t>(plane * kRows + row)], sum, tolerance);
    }
  }
}

TYPED_TEST(RowKernels, NormalizedRows) {
  using T = typename TestFixture::PlaneType;
  constexpr T kEps = static_cast<T>(1e-5);
  DeviceVector<T> x(this->x_);
  std::vector<T> first;
  for (const uint64_t order : {0u, 1u, 2u, 3u}) {
    emulated::set_order(order);
    DeviceVector<T> y(x.size());
    const Stream stream;
    normalize_rows<TypeParam>(x.data(), y.data(), kRows, kCols, kEps, stream);
    stream.wait();
    const std::vector<T> found = y.to_host();
    if (order == 0) first = found;
    EXPECT_TRUE(same_bits(found, first)) << "order " << order;
  }
  // By hand, with the tangent by the quotient rule: y = x r, y' = x' r + x r', r' = -r^3 <x, x'> /
  // C.
  const bool dual = TestFixture::kPlanes == 2;
  std::vector<double> expected(first.size());
  for (int64_t row = 0; row < kRows; ++row) {
    double squares = 0;
    double product = 0;
    for (int64_t col = 0; col < kCols; ++col) {
      squares += this->value(row, col, 0) * this->value(row, col, 0);
      if (dual) product += this->value(row, col, 0) * this->value(row, col, 1);
    }
    const double r = 1 / std::sqrt(squares / kCols + kEps);
    for (int64_t col = 0; col < kCols; ++col) {
      const auto i = static_cast<size_t>(row * kCols + col);
      expected[i] = this->value(row, col, 0) * r;
      if (!dual) continue;
      expected[kRows * kCols + i] =
          this->value(row, col, 1) * r - this->value(row, col, 0) * r * r * r * product / kCols;
    }
  }
  // Numbers of size 1 to 3, a sum of 200 in about 10 steps, and a few further roundings.
  EXPECT_LE(largest_difference(first, expected), 50 * std::numeric_limits<T>::epsilon());
}

}  // namespace
}  // namespace saddle
