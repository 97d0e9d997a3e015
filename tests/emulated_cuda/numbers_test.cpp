// The number types in kernels are those of the processor.
#include "emulated_cuda/kernels/numbers.h"

#include <cmath>

#include "emulated_cuda/device_vector.h"

namespace saddle {
namespace {

constexpr int64_t kNumbers = 70;

template <class S>
class NumbersInKernels : public EmulatedCuda {};

using ForwardNumbers = ::testing::Types<float, double, num::Dual<float>, num::Dual<double>,
                                        num::Jet<float>, num::Jet<double>>;
TYPED_TEST_SUITE(NumbersInKernels, ForwardNumbers);

TYPED_TEST(NumbersInKernels, AreThoseOfTheProcessor) {
  using S = TypeParam;
  using Traits = num::NumberTraits<S>;
  using T = num::Plane<S>;
  std::vector<T> x;
  for (int64_t i = 0; i < Traits::kPlanes * kNumbers; ++i) x.push_back(T(0.1) + T(i) / 32);
  DeviceVector<T> from(x);
  DeviceVector<T> to(x.size());
  const Stream stream;
  apply_all_functions<S>(from.data(), to.data(), kNumbers, stream);
  stream.wait();
  const std::vector<T> found = to.to_host();
  for (int64_t i = 0; i < kNumbers; ++i) {
    S number{};
    for (int p = 0; p < Traits::kPlanes; ++p) {
      Traits::set(number, p, x[static_cast<size_t>(p * kNumbers + i)]);
    }
    const S expected = all_functions(number);
    for (int p = 0; p < Traits::kPlanes; ++p) {
      const T plane = Traits::get(expected, p);
      EXPECT_TRUE(std::isfinite(plane));
      EXPECT_EQ(found[static_cast<size_t>(p * kNumbers + i)], plane);
    }
  }
}

}  // namespace
}  // namespace saddle
