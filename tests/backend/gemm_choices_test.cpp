#include "backend/gemm_choices.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/gemm.h"
#include "base/random.h"
#include "support/products.h"

namespace saddle::backend {
namespace {

struct Matrices {
  std::vector<float> a, b, c;
};

Matrices random_matrices(const GemmShape& shape) {
  const RandomStream stream(1, RandomPurpose::kTest);
  Matrices all{std::vector<float>(shape.m * shape.k), std::vector<float>(shape.k * shape.n),
               std::vector<float>(shape.m * shape.n)};
  uint64_t next = 0;
  for (auto* matrix : {&all.a, &all.b, &all.c}) {
    for (float& x : *matrix) x = static_cast<float>(stream.normal(next++));
  }
  return all;
}

void multiply_shape(Context& context, const GemmShape& s, Matrices& all, float beta) {
  gemm(context, s.a, s.b, s.m, s.n, s.k, 0.5f, all.a.data(), s.a == Transpose::kYes ? s.m : s.k,
       all.b.data(), s.b == Transpose::kYes ? s.k : s.n, beta, all.c.data(), s.n);
}

std::vector<double> plain_loop(const GemmShape& s, const Matrices& all, double beta) {
  std::vector<double> c(s.m * s.n);
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        const double x = all.a[s.a == Transpose::kYes ? k * s.m + i : i * s.k + k];
        const double y = all.b[s.b == Transpose::kYes ? j * s.k + k : k * s.n + j];
        sum += x * y;
      }
      c[i * s.n + j] = 0.5 * sum + beta * all.c[i * s.n + j];
    }
  }
  return c;
}

// Sums of 40 products of normal numbers in float: 1e-5 absolute is about ten roundings.
void expect_near(const std::vector<float>& actual, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-5) << i;
}

TEST(GemmChoices, EveryWayOfSharingGivesTheProduct) {
  for (const auto a : {Transpose::kNo, Transpose::kYes}) {
    for (const auto b : {Transpose::kNo, Transpose::kYes}) {
      const GemmShape shape{a, b, 70, 45, 40};
      for (const auto sharing :
           {GemmSharing::kLibrary, GemmSharing::kRows, GemmSharing::kColumns}) {
        Context context(3);
        gemm_choices(context)->keep(shape, sharing);
        Matrices all = random_matrices(shape);
        const std::vector<double> expected = plain_loop(shape, all, 2);
        multiply_shape(context, shape, all, 2);
        expect_near(all.c, expected);
      }
    }
  }
}

TEST(GemmChoices, EveryWayOfSharingGivesABatch) {
  const GemmShape one{Transpose::kNo, Transpose::kYes, 70, 45, 40};
  GemmShape batch = one;
  batch.count = 3;
  for (const auto sharing :
       {GemmSharing::kLibrary, GemmSharing::kRows, GemmSharing::kColumns, GemmSharing::kProducts}) {
    Context context(2);
    gemm_choices(context)->keep(batch, sharing);
    const Matrices all = random_matrices(one);
    const std::vector<double> expected = plain_loop(one, all, 0);
    std::vector<float> c(3 * all.c.size());
    gemm_batch(context, GemmLevel{3, 0, 0, static_cast<int64_t>(all.c.size())}, one.a, one.b, one.m,
               one.n, one.k, 0.5f, all.a.data(), one.k, all.b.data(), one.k, 0.0f, c.data(), one.n);
    for (int64_t i = 0; i < 3; ++i) {
      const auto begin = c.begin() + i * static_cast<int64_t>(all.c.size());
      expect_near({begin, begin + static_cast<int64_t>(all.c.size())}, expected);
    }
  }
}

// Several products are not tuned by one of them: only several can be distributed whole.
TEST(GemmChoices, TuningKeepsAChoiceForEachNumberOfProducts) {
  Context context(2);
  const GemmShape one{Transpose::kNo, Transpose::kYes, 16, 16, 40};
  GemmShape three = one;
  three.count = 3;
  const Matrices all = random_matrices(one);
  std::vector<float> c(3 * 16 * 16);
  gemm_choices(context)->set_tuning(true);
  for (const int64_t count : {1, 3}) {
    gemm_batch(context, GemmLevel{count, 0, 0, 16 * 16}, one.a, one.b, 16, 16, 40, 1.0f,
               all.a.data(), 40, all.b.data(), 40, 0.0f, c.data(), 16);
    EXPECT_EQ(gemm_choices(context)->find(three) != nullptr, count == 3);
  }
  EXPECT_EQ(gemm_choices(context)->shapes(), 2);
  ASSERT_NE(gemm_choices(context)->find(one), nullptr);
  EXPECT_NE(*gemm_choices(context)->find(one), GemmSharing::kProducts);
}

TEST(GemmChoices, TuningKeepsOneChoiceForEachShape) {
  Context context(2);
  const GemmShape shape{Transpose::kNo, Transpose::kYes, 64, 96, 40};
  Matrices all = random_matrices(shape);
  multiply_shape(context, shape, all, 0);
  EXPECT_EQ(gemm_choices(context)->shapes(), 0) << "nothing is tuned without a request";

  gemm_choices(context)->set_tuning(true);
  multiply_shape(context, shape, all, 0);
  multiply_shape(context, shape, all, 0);
  EXPECT_EQ(gemm_choices(context)->shapes(), 1);
  ASSERT_NE(gemm_choices(context)->find(shape), nullptr);
  EXPECT_EQ(gemm_choices(context)->count(*gemm_choices(context)->find(shape)), 1);
  expect_near(all.c, plain_loop(shape, all, 0));
}

}  // namespace
}  // namespace saddle::backend
