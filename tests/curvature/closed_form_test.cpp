// Second derivatives of operations whose Hessian is known in closed form, written out as a dense
// matrix: a softmax regression, and a bilinear form.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "num/number_types.h"
#include "ops/linear.h"
#include "ops/output_head.h"
#include "ops/output_head_second_order.h"
#include "ops/reduce.h"
#include "ops/tensors.h"
#include "support/test_context.h"

namespace saddle::curvature {
namespace {

using backend::Context;
using backend::Tensor;
using num::Dual;
using num::Jet;
using ops::random_tensor;
using Matrix = std::vector<std::vector<double>>;
using Vector = std::vector<double>;

constexpr int64_t kRows = 7;  // two of them ignored
constexpr int64_t kFeatures = 3;
constexpr int64_t kClasses = 5;
constexpr int64_t kCounted = 5;
const std::vector<int32_t> kTargets = {2, -100, 0, 4, 4, -100, 1};

// A few tens of roundings of 1e-16, of numbers near one.
constexpr double kFloat64 = 1e-13;

double form(const Matrix& hessian, const Vector& u, const Vector& v) {
  double sum = 0;
  for (size_t i = 0; i < u.size(); ++i) {
    sum += u[i] * std::inner_product(v.begin(), v.end(), hessian[i].begin(), 0.0);
  }
  return sum;
}

// Values, and a tangent in plane 1 (a jet's second derivative stays zero).
template <class S>
Tensor<S> with_tangent(Context& context, int64_t rows, int64_t cols, const Vector& values,
                       const Vector& tangent) {
  Tensor<S> tensor(context, 1, rows, cols);
  backend::copy_from_host<S>(context, values.data(), 0, tensor.view());
  if (!tangent.empty()) backend::copy_from_host<S>(context, tangent.data(), 1, tensor.view());
  return tensor;
}

template <class S>
Vector plane_of(Context& context, const Tensor<S>& tensor, int plane) {
  Vector host(static_cast<size_t>(tensor.view().size()));
  backend::copy_to_host<S>(context, tensor.view(), plane, host.data());
  return host;
}

class SoftmaxRegression : public ::testing::Test {
 protected:
  Vector x_ = numbers(kRows * kFeatures, 1);
  Vector table_ = numbers(kClasses * kFeatures, 2);
  Vector u_ = numbers(kClasses * kFeatures, 3);
  Vector v_ = numbers(kClasses * kFeatures, 4);
  Context context_ = test_context(1);

  static Vector numbers(int64_t count, uint64_t seed) {
    const RandomStream random(seed, RandomPurpose::kTest);
    Vector all;
    for (int64_t i = 0; i < count; ++i) all.push_back(random.normal(static_cast<uint64_t>(i)));
    return all;
  }

  Tensor<int32_t> targets() {
    Tensor<int32_t> tensor(context_, 1, kRows, 1);
    backend::copy_from_host<int32_t>(context_, kTargets.data(), 0, tensor.view());
    return tensor;
  }

  // The Hessian of the mean loss over the counted rows by the table: with p the softmax of E x,
  // H[(a, i), (b, j)] = 1/M sum_m (p_a [a = b] - p_a p_b) x_i x_j.
  Matrix hessian() const {
    const size_t size = kClasses * kFeatures;
    Matrix h(size, Vector(size));
    for (size_t m = 0; m < kRows; ++m) {
      if (kTargets[m] < 0) continue;
      const double* x = x_.data() + m * kFeatures;
      Vector p(kClasses);
      for (size_t a = 0; a < kClasses; ++a) {
        p[a] = std::exp(std::inner_product(x, x + kFeatures, table_.begin() + a * kFeatures, 0.0));
      }
      const double sum = std::accumulate(p.begin(), p.end(), 0.0);
      for (double& probability : p) probability /= sum;
      for (size_t row = 0; row < size; ++row) {
        for (size_t column = 0; column < size; ++column) {
          const size_t a = row / kFeatures, b = column / kFeatures;
          const double curvature = (a == b ? p[a] : 0.0) - p[a] * p[b];
          h[row][column] += curvature * x[row % kFeatures] * x[column % kFeatures] / kCounted;
        }
      }
    }
    return h;
  }
};

TEST_F(SoftmaxRegression, OverDualNumbers) {
  using S = Dual<double>;
  const Matrix h = hessian();
  const auto x = with_tangent<S>(context_, kRows, kFeatures, x_, {});
  const auto table = with_tangent<S>(context_, kClasses, kFeatures, table_, v_);
  Tensor<S> losses(context_, 1, kRows, 1), dx(context_, 1, kRows, kFeatures),
      dtable(context_, 1, kClasses, kFeatures);
  const Tensor<double> weights = with_tangent<double>(context_, 1, 1, {1.0 / kCounted}, {});
  ops::output_head_loss_and_gradient<S>(context_, x, table, targets(), weights, losses, dx, dtable);
  const Vector product = plane_of(context_, dtable, 1);
  for (size_t i = 0; i < product.size(); ++i) {
    const double expected = std::inner_product(v_.begin(), v_.end(), h[i].begin(), 0.0);
    EXPECT_NEAR(product[i], expected, kFloat64) << i;
  }
  const double form_uv = std::inner_product(u_.begin(), u_.end(), product.begin(), 0.0);
  EXPECT_NEAR(form_uv, form(h, u_, v_), kFloat64);
}

TEST_F(SoftmaxRegression, OverJets) {
  using S = Jet<double>;
  const auto x = with_tangent<S>(context_, kRows, kFeatures, x_, {});
  const auto table = with_tangent<S>(context_, kClasses, kFeatures, table_, v_);
  Tensor<S> losses(context_, 1, kRows, 1);
  ops::output_head_loss<S>(context_, x, table, targets(), losses);
  const double second = ops::read_sum<S>(context_, losses).front().dd / kCounted;
  EXPECT_NEAR(second / form(hessian(), v_, v_), 1, kFloat64);
}

TEST_F(SoftmaxRegression, BySecondOrderTerms) {
  const auto x = with_tangent<double>(context_, kRows, kFeatures, x_, {});
  const auto table = with_tangent<double>(context_, kClasses, kFeatures, table_, {});
  const Tensor<double> x_t(context_, 2, kRows, kFeatures);  // features do not move
  Tensor<double> table_t(context_, 2, kClasses, kFeatures);
  backend::copy_from_host<double>(context_, u_.data(), 0, table_t.view().worker_range(0, 1));
  backend::copy_from_host<double>(context_, v_.data(), 0, table_t.view().worker_range(1, 1));
  const Tensor<double> sums(context_, 2, 1, 1);
  ops::output_head_second_order<double>(context_, x, table, targets(), 1.0 / kCounted, x_t, table_t,
                                        sums);
  const Vector forms = plane_of(context_, sums, 0);
  EXPECT_NEAR(forms[0] / form(hessian(), u_, u_), 1, kFloat64);
  EXPECT_NEAR(forms[1] / form(hessian(), v_, v_), 1, kFloat64);
}

// f(x, W) = sum_mo c_mo sum_i x_mi W_oi is quadratic: its Hessian is constant, with c_mo for the
// pair x_mi, W_oi and zero elsewhere.
class BilinearForm : public ::testing::Test {
 protected:
  static constexpr int64_t kIn = 3, kOut = 2, kPlaces = 4;
  static constexpr size_t kX = kPlaces * kIn, kW = kOut * kIn;
  Context context_ = test_context(1);
  Vector c_ = host(kPlaces, kOut, 1), x_ = host(kPlaces, kIn, 2), w_ = host(kOut, kIn, 3),
         x_tan_ = host(kPlaces, kIn, 4), w_tan_ = host(kOut, kIn, 5);

  Vector host(int64_t rows, int64_t cols, uint64_t seed) {
    return plane_of(context_, random_tensor<double>(context_, 1, rows, cols, seed), 0);
  }

  static Matrix hessian(const Vector& c) {
    Matrix h(kX + kW, Vector(kX + kW));
    for (size_t m = 0; m < kPlaces; ++m) {
      for (size_t o = 0; o < kOut; ++o) {
        for (size_t i = 0; i < kIn; ++i) {
          h[m * kIn + i][kX + o * kIn + i] = c[m * kOut + o];
          h[kX + o * kIn + i][m * kIn + i] = c[m * kOut + o];
        }
      }
    }
    return h;
  }

  double expected() const {
    Vector v = x_tan_;
    v.insert(v.end(), w_tan_.begin(), w_tan_.end());
    return form(hessian(c_), v, v);
  }

  double value(double step) {
    Vector x = x_, w = w_;
    for (size_t i = 0; i < kX; ++i) x[i] += step * x_tan_[i];
    for (size_t i = 0; i < kW; ++i) w[i] += step * w_tan_[i];
    Tensor<double> y(context_, 1, kPlaces, kOut);
    ops::linear_forward<double>(context_, with_tangent<double>(context_, kPlaces, kIn, x, {}),
                                with_tangent<double>(context_, kOut, kIn, w, {}), y);
    const Vector all = plane_of(context_, y, 0);
    return std::inner_product(all.begin(), all.end(), c_.begin(), 0.0);
  }
};

TEST_F(BilinearForm, OverDualNumbers) {
  using S = Dual<double>;
  const auto x = with_tangent<S>(context_, kPlaces, kIn, x_, x_tan_);
  const auto w = with_tangent<S>(context_, kOut, kIn, w_, w_tan_);
  const auto c = with_tangent<S>(context_, kPlaces, kOut, c_, {});
  Tensor<S> dx(context_, 1, kPlaces, kIn), dw(context_, 1, kOut, kIn);
  ops::linear_adjoint_input<S>(context_, c, w, ops::Store::kWrite, dx);
  ops::linear_adjoint_weight<S>(context_, x, c, dw);
  const Vector hx = plane_of(context_, dx, 1), hw = plane_of(context_, dw, 1);
  EXPECT_NEAR(std::inner_product(hx.begin(), hx.end(), x_tan_.begin(), 0.0) +
                  std::inner_product(hw.begin(), hw.end(), w_tan_.begin(), 0.0),
              expected(), kFloat64);
}

TEST_F(BilinearForm, OverJets) {
  using S = Jet<double>;
  Tensor<S> y(context_, 1, kPlaces, kOut);
  ops::linear_forward<S>(context_, with_tangent<S>(context_, kPlaces, kIn, x_, x_tan_),
                         with_tangent<S>(context_, kOut, kIn, w_, w_tan_), y);
  const Vector second = plane_of(context_, y, 2);
  EXPECT_NEAR(std::inner_product(second.begin(), second.end(), c_.begin(), 0.0), expected(),
              kFloat64);
}

TEST_F(BilinearForm, BySecondOrderTerms) {
  Tensor<double> y_t(context_, 1, kPlaces, kOut);
  const Tensor<double> sums(context_, 1, 1, 1);
  ops::linear_second_order<double>(context_, with_tangent<double>(context_, kPlaces, kIn, x_, {}),
                                   with_tangent<double>(context_, kOut, kIn, w_, {}),
                                   with_tangent<double>(context_, kPlaces, kOut, c_, {}),
                                   with_tangent<double>(context_, kPlaces, kIn, x_tan_, {}),
                                   with_tangent<double>(context_, kOut, kIn, w_tan_, {}), y_t,
                                   sums);
  EXPECT_NEAR(plane_of(context_, sums, 0)[0], expected(), kFloat64);
}

// The second difference of a quadratic function is exact for any step.
TEST_F(BilinearForm, IsItsSecondDifference) {
  EXPECT_NEAR(value(1) - 2 * value(0) + value(-1), expected(), 1e-12);
}

}  // namespace
}  // namespace saddle::curvature
