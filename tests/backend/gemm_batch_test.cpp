// Batches of products at two levels, against plain loops.
#include "backend/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace saddle::backend {
namespace {

// Products [m, k] x [k, n] whose stored rows are 2 numbers longer than needed.
constexpr int64_t kM = 70, kN = 19, kK = 23;
constexpr int64_t kMargin = 2;

template <class T>
std::vector<T> normal_numbers(int64_t count, uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::kTest);
  std::vector<T> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(stream.normal(i));
  return numbers;
}

template <class T>
class BatchCase {
 public:
  BatchCase(GemmBatch batch, Transpose a, Transpose b)
      : batch_(batch),
        ta_(a),
        tb_(b),
        a_(normal_numbers<T>(last(&GemmLevel::stride_a) + kM * kK * 2, 1)),
        b_(normal_numbers<T>(last(&GemmLevel::stride_b) + kN * kK * 2, 2)),
        old_(normal_numbers<T>(last(&GemmLevel::stride_c) + kM * (kN + kMargin), 3)) {}

  void expect_products(int threads, T beta) const {
    Context context(threads);
    std::vector<T> found = old_;
    multiply(context, GemmCall<T>{batch_, ta_, tb_, kM, kN, kK, T(-0.5), a_.data(), lda(),
                                  b_.data(), ldb(), beta, found.data(), kN + kMargin});
    EXPECT_EQ(context.counters().products, 1) << "one call for a batch";
    std::vector<T> expected = old_;
    std::vector<double> bound(old_.size());  // 0: the old number remains
    for (int64_t i = 0; i < batch_.outer.count; ++i) {
      for (int64_t j = 0; j < batch_.inner.count; ++j) plain(i, j, beta, expected, bound);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_LE(std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])),
                bound[i])
          << i << " on " << threads << " threads";
    }
  }

 private:
  int64_t last(int64_t GemmLevel::*stride) const {
    return (batch_.outer.count - 1) * batch_.outer.*stride +
           (batch_.inner.count - 1) * batch_.inner.*stride;
  }
  int64_t lda() const { return (ta_ == Transpose::kNo ? kK : kM) + kMargin; }
  int64_t ldb() const { return (tb_ == Transpose::kNo ? kN : kK) + kMargin; }

  void plain(int64_t i, int64_t j, T beta, std::vector<T>& c, std::vector<double>& bound) const {
    const int64_t a = i * batch_.outer.stride_a + j * batch_.inner.stride_a;
    const int64_t b = i * batch_.outer.stride_b + j * batch_.inner.stride_b;
    const int64_t first = i * batch_.outer.stride_c + j * batch_.inner.stride_c;
    for (int64_t row = 0; row < kM; ++row) {
      for (int64_t col = 0; col < kN; ++col) {
        const auto at = static_cast<size_t>(first + row * (kN + kMargin) + col);
        long double sum = static_cast<long double>(beta) * old_[at];
        long double size = std::abs(sum);
        for (int64_t k = 0; k < kK; ++k) {
          const T x = a_[a + (ta_ == Transpose::kNo ? row * lda() + k : k * lda() + row)];
          const T y = b_[b + (tb_ == Transpose::kNo ? k * ldb() + col : col * ldb() + k)];
          const long double term = -0.5L * x * y;
          sum += term;
          size += std::abs(term);
        }
        c[at] = static_cast<T>(sum);
        // Any order of summation: each of k + 4 roundings is half a unit.
        bound[at] = static_cast<double>(static_cast<long double>(kK + 4) / 2 *
                                        std::numeric_limits<T>::epsilon() * size);
      }
    }
  }

  GemmBatch batch_;
  Transpose ta_, tb_;
  std::vector<T> a_, b_, old_;
};

template <class T>
void expect_batches() {
  constexpr int64_t kA = kM * kK * 2 + 5, kB = kN * kK * 2 + 3, kC = kM * (kN + kMargin) + 1;
  const GemmBatch batches[] = {
      {{2, 3 * kA, 3 * kB, 3 * kC}, {3, kA, kB, kC}},
      {{3, kA, kB, kC}, {2, 3 * kA, 3 * kB, 3 * kC}},  // inner products farther apart
      {{2, kA, 0, 3 * kC}, {3, 0, kB, kC}},            // A of the outer, B of the inner product
      {{2, 0, kB, 3 * kC}, {3, kA, 0, kC}},            // and the other way round
      {{3, 0, 0, kC}, {1, 0, 0, 0}},                   // one product three times
      {{1, 0, 0, 0}, {2, kA, 0, kC}},
      {{1, 0, 0, 0}, {1, 0, 0, 0}},
  };
  for (const GemmBatch& batch : batches) {
    for (const Transpose a : {Transpose::kNo, Transpose::kYes}) {
      for (const Transpose b : {Transpose::kNo, Transpose::kYes}) {
        const BatchCase<T> one(batch, a, b);
        for (const int threads : {1, 2, 3}) {
          one.expect_products(threads, T(0));
          one.expect_products(threads, T(0.75));
        }
      }
    }
  }
}

TEST(GemmBatch, OfTwoLevelsInFloatMatchesPlainLoops) {
  expect_batches<float>();
}

TEST(GemmBatch, OfTwoLevelsInDoubleMatchesPlainLoops) {
  expect_batches<double>();
}

// Heads of sequences as attention requests them: the columns of a wider tensor.
TEST(GemmBatch, TakesColumnsOfWiderMatrices) {
  constexpr int64_t kSequences = 2, kHeads = 3, kRows = 5, kSize = 4;
  constexpr int64_t kWidth = kHeads * kSize;
  const std::vector<double> q = normal_numbers<double>(kSequences * kRows * kWidth, 1);
  const std::vector<double> k = normal_numbers<double>(kSequences * kRows * kWidth, 2);
  std::vector<double> scores(kSequences * kHeads * kRows * kRows);
  Context context(2);
  const GemmBatch batch({kSequences, kRows * kWidth, kRows * kWidth, kHeads * kRows * kRows},
                        {kHeads, kSize, kSize, kRows * kRows});
  EXPECT_EQ(batch.count(), 6);
  multiply(context, GemmCall<double>{batch, Transpose::kNo, Transpose::kYes, kRows, kRows, kSize, 1,
                                     q.data(), kWidth, k.data(), kWidth, 0, scores.data(), kRows});
  size_t at = 0;
  for (int64_t b = 0; b < kSequences; ++b) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t t = 0; t < kRows; ++t) {
        for (int64_t s = 0; s < kRows; ++s) {
          double sum = 0;
          for (int64_t c = h * kSize; c < (h + 1) * kSize; ++c) {
            sum += q[(b * kRows + t) * kWidth + c] * k[(b * kRows + s) * kWidth + c];
          }
          ASSERT_NEAR(scores[at++], sum, 1e-15 * 20);  // four terms, up to about 10 each
        }
      }
    }
  }
}

}  // namespace
}  // namespace saddle::backend
