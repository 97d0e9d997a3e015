// The head with more logits than 32 bits can count: 128 sequences of 1,024 rows over 32,000 pieces.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/cross_entropy_row.h"
#include "ops/output_head.h"
#include "ops/tensors.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

constexpr int64_t kRows = 128 * 1024;
constexpr int64_t kWidth = 8;
constexpr int64_t kVocabulary = 32000;
static_assert(kRows * kVocabulary > int64_t{1} << 31);

// Loss and gradient with respect to x of one row, in double by the formulas in ops/output_head.h.
struct RowResult {
  double loss = 0;
  std::vector<double> dx = std::vector<double>(kWidth);
};

RowResult row_in_double(const float* x, const std::vector<float>& table, int32_t target,
                        double weight) {
  std::vector<double> z(kVocabulary);
  double largest = -1e300;
  for (int64_t v = 0; v < kVocabulary; ++v) {
    for (int64_t c = 0; c < kWidth; ++c) z[v] += double{x[c]} * double{table[v * kWidth + c]};
    largest = std::max(largest, z[v]);
  }
  double sum = 0;
  for (const double logit : z) sum += std::exp(logit - largest);
  const double lse = largest + std::log(sum);
  RowResult result;
  result.loss = lse - z[target];
  for (int64_t v = 0; v < kVocabulary; ++v) {
    const double dz = weight * (std::exp(z[v] - lse) - (v == target ? 1 : 0));
    for (int64_t c = 0; c < kWidth; ++c) result.dx[c] += dz * double{table[v * kWidth + c]};
  }
  return result;
}

TEST(LargeOutputHead, MoreLogitsThan32BitsCount) {
  if (!tests_the_processor()) GTEST_SKIP() << "the emulated device would take minutes";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "4.2 billion exponentials take minutes under a sanitizer";
#endif
  Context context = test_context(2);
  const Tensor<float> x = random_tensor<float>(context, 1, kRows, kWidth, 1);
  const Tensor<float> table = random_tensor<float>(context, 1, kVocabulary, kWidth, 2, 0.5);
  const RandomStream random(3, RandomPurpose::kTest);
  std::vector<int32_t> targets(kRows);
  for (int64_t m = 0; m < kRows; ++m) {
    targets[m] = static_cast<int32_t>(random.below(m, kVocabulary));
  }
  const Tensor<int32_t> device_targets(context, 1, kRows, 1);
  backend::copy_from_host<int32_t>(context, targets.data(), 0, device_targets.view());
  const Tensor<float> losses(context, 1, kRows, 1), dx(context, 1, kRows, kWidth),
      dtable(context, 1, kVocabulary, kWidth);
  const double weight = 0.5;
  output_head_loss_and_gradient<float>(context, x, table, device_targets,
                                       per_worker(context, {weight}), losses, dx, dtable);

  const std::vector<float> host_x = numbers_of<float>(context, x.view());
  const std::vector<float> host_table = numbers_of<float>(context, table.view());
  const std::vector<float> host_losses = numbers_of<float>(context, losses.view());
  const std::vector<float> host_dx = numbers_of<float>(context, dx.view());
  // Rows at the beginning, around logit 2^31 (row 67,108), and at the end.
  for (const int64_t m : {int64_t{0}, int64_t{1}, int64_t{67107}, int64_t{67108}, int64_t{67109},
                          int64_t{90000}, kRows - 1025, kRows - 1}) {
    const RowResult expected = row_in_double(&host_x[m * kWidth], host_table, targets[m], weight);
    // Sums of 32,000 terms in blocks: about ten float roundings of a loss near 12 and a dx near 1.
    EXPECT_NEAR(host_losses[m], expected.loss, 2e-5) << "row " << m;
    for (int64_t c = 0; c < kWidth; ++c) {
      EXPECT_NEAR(host_dx[m * kWidth + c], expected.dx[c], 1e-5) << "row " << m;
    }
  }
}

}  // namespace
}  // namespace saddle::ops
