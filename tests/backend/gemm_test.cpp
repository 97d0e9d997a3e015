// Matrix products against plain loops.
#include "backend/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backend/parallel.h"
#include "base/random.h"
#include "support/products.h"

namespace saddle::backend {
namespace {

struct Shape {
  int64_t m, n, k;
};

constexpr Shape kShapes[] = {{1, 1, 1},    {1, 7, 3},     {5, 1, 9},      {3, 5, 1},
                             {17, 33, 65}, {64, 64, 64},  {129, 31, 127}, {2, 300, 5},
                             {193, 8, 70}, {65, 130, 257}};

// A stored matrix [rows, cols] with `margin` numbers between its rows.
template <class T>
struct Matrix {
  int64_t rows, cols, stride;
  std::vector<T> numbers;

  Matrix(int64_t row_count, int64_t col_count, int64_t margin, uint64_t seed)
      : rows(row_count), cols(col_count), stride(col_count + margin), numbers(rows * stride) {
    const RandomStream stream(seed, RandomPurpose::kTest);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(stream.normal(i));
  }
  T at(Transpose t, int64_t i, int64_t j) const {
    return t == Transpose::kNo ? numbers[i * stride + j] : numbers[j * stride + i];
  }
};

template <class T>
struct Problem {
  Transpose ta, tb;
  Shape shape;
  Matrix<T> a, b, c;

  Problem(Transpose a_transposed, Transpose b_transposed, Shape s, int64_t margin)
      : ta(a_transposed),
        tb(b_transposed),
        shape(s),
        a(ta == Transpose::kNo ? s.m : s.k, ta == Transpose::kNo ? s.k : s.m, margin, 1),
        b(tb == Transpose::kNo ? s.k : s.n, tb == Transpose::kNo ? s.n : s.k, margin, 2),
        c(s.m, s.n, margin, 3) {}

  std::vector<T> product(Context& context, T alpha, T beta, const std::vector<T>& old) const {
    std::vector<T> result = old;
    gemm(context, ta, tb, shape.m, shape.n, shape.k, alpha, a.numbers.data(), a.stride,
         b.numbers.data(), b.stride, beta, result.data(), c.stride);
    return result;
  }
};

constexpr Transpose kBoth[] = {Transpose::kNo, Transpose::kYes};

template <class T>
void expect_products_match_plain_loops() {
  Context context(2);
  const T unit = std::numeric_limits<T>::epsilon();
  for (const Shape& shape : kShapes) {
    for (const Transpose ta : kBoth) {
      for (const Transpose tb : kBoth) {
        for (const int64_t margin : {0, 3}) {
          const Problem<T> problem(ta, tb, shape, margin);
          const T alpha = T(-0.75);
          for (const T beta : {T(0), T(1), T(0.5)}) {
            // With beta = 0 the old contents are not read.
            std::vector<T> old = problem.c.numbers;
            if (beta == T(0))
              std::fill(old.begin(), old.end(), std::numeric_limits<T>::quiet_NaN());
            const std::vector<T> found = problem.product(context, alpha, beta, old);
            for (int64_t i = 0; i < shape.m; ++i) {
              for (int64_t j = 0; j < problem.c.stride; ++j) {
                const int64_t at = i * problem.c.stride + j;
                if (j >= shape.n) {
                  EXPECT_TRUE(found[at] == old[at] ||
                              (std::isnan(old[at]) && std::isnan(found[at])));
                  continue;
                }
                long double sum = beta == T(0) ? 0.0L : static_cast<long double>(beta) * old[at];
                long double size = std::abs(sum);
                for (int64_t p = 0; p < shape.k; ++p) {
                  const long double term = static_cast<long double>(alpha) *
                                           problem.a.at(ta, i, p) * problem.b.at(tb, p, j);
                  sum += term;
                  size += std::abs(term);
                }
                // A bound for any order of summation: each of k + 3 roundings is half a unit.
                ASSERT_LE(std::abs(static_cast<long double>(found[at]) - sum),
                          static_cast<long double>(shape.k + 3) / 2 * unit * size)
                    << shape.m << "x" << shape.n << "x" << shape.k << " at " << i << ", " << j;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Gemm, FloatMatchesPlainLoops) {
  expect_products_match_plain_loops<float>();
}

TEST(Gemm, DoubleMatchesPlainLoops) {
  expect_products_match_plain_loops<double>();
}

TEST(Gemm, DoubleDoesNotDependOnTheNumberOfThreads) {
  for (const Shape& shape : kShapes) {
    for (const Transpose ta : kBoth) {
      const Problem<double> problem(ta, Transpose::kNo, shape, 0);
      Context one(1);
      const auto expected = problem.product(one, 1, 1, problem.c.numbers);
      for (const int threads : {2, 3}) {
        Context several(threads);
        EXPECT_EQ(problem.product(several, 1, 1, problem.c.numbers), expected) << threads;
      }
    }
  }
}

template <class T>
void expect_the_same_inside_a_loop() {
  Context context(2);
  const Problem<T> problem(Transpose::kNo, Transpose::kYes, {170, 40, 30}, 1);
  const std::vector<T> expected = problem.product(context, 1, 0, problem.c.numbers);
  std::vector<std::vector<T>> found(6);
  parallel_tasks(context, 6, [&](Context& lane, int64_t i) {
    // With the lane's context, or that of the loop.
    found[i] = problem.product(i % 2 == 0 ? lane : context, 1, 0, problem.c.numbers);
  });
  for (const std::vector<T>& result : found) {
    for (size_t i = 0; i < result.size(); ++i) {
      // Sums of 30 terms of size 1, in another order where the library of float chooses one.
      const T tolerance = std::is_same_v<T, double> ? 0 : 60 * std::numeric_limits<T>::epsilon();
      EXPECT_NEAR(result[i], expected[i], tolerance);
    }
  }
}

TEST(Gemm, MayBeCalledInsideAParallelLoop) {
  expect_the_same_inside_a_loop<float>();
  expect_the_same_inside_a_loop<double>();
}

// The matrices of a batch follow each other, with some numbers between them.
template <class T>
void expect_a_batch_to_be_its_products(int64_t count, int threads, T tolerance) {
  const Shape shape{130, 40, 30};
  const int64_t stride_a = 130 * 30 + 7;
  const int64_t stride_b = 30 * 40 + 5;
  const int64_t stride_c = 130 * 40 + 3;
  const auto numbers = [](int64_t size, uint64_t seed) {
    return Matrix<T>(1, size, 0, seed).numbers;
  };
  const std::vector<T> a = numbers(count * stride_a, 1);
  const std::vector<T> b = numbers(count * stride_b, 2);
  const std::vector<T> old = numbers(count * stride_c, 3);
  for (const Transpose ta : kBoth) {
    const int64_t lda = ta == Transpose::kNo ? shape.k : shape.m;
    Context context(threads);
    std::vector<T> found = old;
    gemm_batch(context, GemmLevel{count, stride_a, stride_b, stride_c}, ta, Transpose::kYes,
               shape.m, shape.n, shape.k, T(0.5), a.data(), lda, b.data(), shape.k, T(1),
               found.data(), shape.n);
    std::vector<T> expected = old;
    Context one(1);
    for (int64_t i = 0; i < count; ++i) {
      gemm(one, ta, Transpose::kYes, shape.m, shape.n, shape.k, T(0.5), a.data() + i * stride_a,
           lda, b.data() + i * stride_b, shape.k, T(1), expected.data() + i * stride_c, shape.n);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_LE(std::abs(found[i] - expected[i]), tolerance) << count << " products, at " << i;
    }
  }
}

TEST(Gemm, ABatchGivesItsProducts) {
  for (const int64_t count : {1, 2, 3, 4, 9}) {
    for (const int threads : {1, 2, 3}) {
      expect_a_batch_to_be_its_products<double>(count, threads, 0);
      // Sums of 30 terms of size 1, in another order where the library chooses one.
      expect_a_batch_to_be_its_products<float>(count, threads, 1e-5F);
    }
  }
  // Products that run whole on one thread have the bits of one thread.
  expect_a_batch_to_be_its_products<float>(4, 2, 0);
}

TEST(Gemm, UsesTheThreadsOfItsContext) {
  const Problem<float> problem(Transpose::kNo, Transpose::kNo, {8, 8, 8}, 0);
  Context one(1);
  Context two(2);
  problem.product(one, 1, 0, problem.c.numbers);
  EXPECT_EQ(omp_get_max_threads(), 1);  // the number that oneDNN requests
  problem.product(two, 1, 0, problem.c.numbers);
  EXPECT_EQ(omp_get_max_threads(), 2);
}

TEST(Gemm, EmptyProductsDoNothing) {
  Context context(1);
  float untouched = 5;
  gemm(context, Transpose::kNo, Transpose::kNo, 0, 1, 1, 1.0f, &untouched, 1, &untouched, 1, 0.0f,
       &untouched, 1);
  double wide = 5;
  gemm(context, Transpose::kNo, Transpose::kNo, 1, 0, 1, 1.0, &wide, 1, &wide, 1, 0.0, &wide, 1);
  EXPECT_EQ(untouched, 5);
  EXPECT_EQ(wide, 5);
}

}  // namespace
}  // namespace saddle::backend
