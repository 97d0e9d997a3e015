// Products when OpenMP starts fewer threads than requested: every part of them is computed.
#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "backend/gemm.h"
#include "backend/parallel.h"
#include "base/random.h"
#include "support/environment_variable.h"
#include "support/products.h"

namespace saddle::backend {
namespace {

constexpr int kAsked = 3;

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer does not know the barriers of OpenMP.
#define SKIP_UNDER_THREAD_SANITIZER() GTEST_SKIP()
#else
#define SKIP_UNDER_THREAD_SANITIZER() static_cast<void>(0)
#endif

std::vector<float> normal_numbers(int64_t count, uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::kTest);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(stream.normal(i));
  return numbers;
}

// x W^T, large enough that oneDNN shares it among threads.
std::vector<float> large_product(Context& context) {
  constexpr int64_t kRows = 256, kColumns = 320, kInner = 192;
  const std::vector<float> x = normal_numbers(kRows * kInner, 1);
  const std::vector<float> w = normal_numbers(kColumns * kInner, 2);
  std::vector<float> y(kRows * kColumns, std::nanf(""));
  gemm(context, Transpose::kNo, Transpose::kYes, kRows, kColumns, kInner, 1.0F, x.data(), kInner,
       w.data(), kInner, 0.0F, y.data(), kColumns);
  return y;
}

// Sums of 192 terms of size 1, in another order.
void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  size_t wrong = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    wrong += std::abs(found[i] - expected[i]) <= 1e-4F ? 0U : 1U;
  }
  EXPECT_EQ(wrong, 0U) << "of " << found.size();
}

std::vector<float> product_of_one_thread() {
  Context one(1);
  return large_product(one);
}

void expect_right_products(int threads) {
  const std::vector<float> expected = product_of_one_thread();
  Context context(threads);
  expect_near(large_product(context), expected);
  // A separate thread has its own settings and its own pool of threads.
  std::thread([&] { expect_near(large_product(context), expected); }).join();
  // Two at a time, each with its own context.
  std::array<std::thread, 2> callers;
  for (std::thread& caller : callers) {
    caller = std::thread([&] {
      Context own(threads);
      for (int i = 0; i < 5; ++i) expect_near(large_product(own), expected);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// The effects of environment variables are tested in separate processes, because OpenMP reads them
// only once. Those processes run this test.
TEST(Team, GivesRightProducts) {
  expect_right_products(kAsked);
}

TEST(Team, GivesRightProductsUnderEveryLimitOfTheEnvironment) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "'" + self + "' --gtest_filter=Team.GivesRightProducts >&2";
  const std::vector<std::array<const char*, 2>> limits = {
      {"OMP_THREAD_LIMIT", "1"},      {"OMP_THREAD_LIMIT", "2"}, {"OMP_DYNAMIC", "true"},
      {"OMP_MAX_ACTIVE_LEVELS", "0"}, {"OMP_NUM_THREADS", "1"},  {"OMP_NUM_THREADS", "2,2"},
      {"OMP_MAX_ACTIVE_LEVELS", "4"}, {"OMP_PLACES", "{0}"}};
  for (const auto& [name, value] : limits) {
    const EnvironmentVariable variable(name, value);
    EXPECT_EQ(std::system(command.c_str()), 0) << name << "=" << value;
  }
}

// The number of threads of a context is the number that OpenMP starts.
TEST(Team, ThreadsAreCounted) {
  SKIP_UNDER_THREAD_SANITIZER();
  EXPECT_EQ(Context(kAsked).threads(), kAsked);
  int threads = 0;
#pragma omp teams num_teams(1) thread_limit(2)
  threads = Context(kAsked).threads();
  EXPECT_EQ(threads, 2);
  omp_set_max_active_levels(0);
  EXPECT_EQ(Context(kAsked).threads(), 1);
  omp_set_max_active_levels(1);
}

// The context is made before the limit.
TEST(Team, MayBeLimitedLater) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::vector<float> expected = product_of_one_thread();
  Context context(kAsked);
  expect_near(large_product(context), expected);
  for (const int limit : {1, 2}) {
#pragma omp teams num_teams(1) thread_limit(limit)
    expect_near(large_product(context), expected);
  }
  omp_set_dynamic(1);
  expect_near(large_product(context), expected);
  EXPECT_EQ(omp_get_dynamic(), 0);  // whatever the load of this machine
  omp_set_max_active_levels(0);
  expect_near(large_product(context), expected);
  omp_set_max_active_levels(1);
}

// Inside a parallel region of the caller, with regions inside it allowed and not.
TEST(Team, MayBeInsideAnother) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::vector<float> expected = product_of_one_thread();
  for (const int levels : {1, 3}) {
    for (const int outer : {1, 2}) {
      omp_set_max_active_levels(levels);
      std::vector<std::vector<float>> found(static_cast<size_t>(outer));
#pragma omp parallel num_threads(outer)
      {
        Context context(kAsked);
        omp_set_num_threads(kAsked);
        found[static_cast<size_t>(omp_get_thread_num())] = large_product(context);
      }
      for (const std::vector<float>& product : found) expect_near(product, expected);
    }
  }
  omp_set_max_active_levels(1);
}

}  // namespace
}  // namespace saddle::backend
