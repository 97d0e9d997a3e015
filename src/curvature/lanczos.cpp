#include "curvature/lanczos.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/orthogonalize.h"
#include "ops/reduce.h"

namespace saddle::curvature {
namespace {

// The rounding of a product with a vector of norm 1, in units in the last place of the operator's
// size: each of its numbers goes through a few tens of sums.
constexpr double kRounding = 100;

template <class T>
double norm(backend::Context& context, backend::View<const T> x) {
  return std::sqrt(ops::read_sum_of_squares<T>(context, x)[0]);
}

}  // namespace

std::vector<RitzValue> ritz_values(const Tridiagonal& tridiagonal) {
  const auto size = static_cast<Eigen::Index>(tridiagonal.diagonal.size());
  if (size == 0) return {};
  const Eigen::Map<const Eigen::VectorXd> diagonal(tridiagonal.diagonal.data(), size);
  const Eigen::Map<const Eigen::VectorXd> off(tridiagonal.off_diagonal.data(), size - 1);
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, off);
  if (solver.info() != Eigen::Success) {
    fail(ErrorKind::kNumeric, "the eigenvalues of a tridiagonal matrix of size {} were not found",
         size);
  }
  std::vector<RitzValue> values;
  for (Eigen::Index i = 0; i < size; ++i) {
    const auto vector = solver.eigenvectors().col(i);
    values.push_back({solver.eigenvalues()(i),
                      std::max(tridiagonal.off_diagonal.back() * std::abs(vector(size - 1)),
                               tridiagonal.rounding),
                      vector(0) * vector(0)});
  }
  return values;
}

template <class T>
std::optional<Tridiagonal> lanczos(backend::Context& context, const SymmetricOperator<T>& apply,
                                   int64_t steps, const backend::Arena<T>& basis) {
  const auto lane = [&](int64_t i) { return basis.all().worker_range(i, 1); };
  const double start = norm<T>(context, lane(0));
  if (!(start > 0)) fail(ErrorKind::kInternal, "Lanczos begins at a vector of norm {}", start);
  ops::scale<T>(context, 1 / start, lane(0));

  const auto before = [&](int64_t i) { return basis.all().worker_range(0, i); };

  Tridiagonal result;
  double size = 0;  // estimate of the operator's norm so far
  for (int64_t i = 0; i < steps; ++i) {
    const backend::View<T> next = lane(i + 1);
    if (!apply(lane(i), next)) return std::nullopt;
    result.diagonal.push_back(ops::read_dot<T>(context, lane(i), next)[0]);
    // Twice: once leaves a remainder in float (Parlett, "The symmetric eigenvalue problem", 6.9).
    for (int pass = 0; pass < 2; ++pass) ops::orthogonalize<T>(context, before(i + 1), next);
    const double left = norm<T>(context, next);
    if (!std::isfinite(left)) {
      fail(ErrorKind::kNumeric, "the product of the Hessian with Lanczos vector {} is not finite",
           i);
    }
    size = std::max({size, std::abs(result.diagonal.back()), left});
    result.rounding = kRounding * std::numeric_limits<T>::epsilon() * size;
    // If the subspace is exhausted, the remainder is rounding.
    const bool exhausted = left <= result.rounding;
    result.off_diagonal.push_back(exhausted ? 0 : left);
    if (exhausted) break;
    ops::scale<T>(context, 1 / left, next);
  }
  return result;
}

#define SADDLE_INSTANTIATE(T)                                                                    \
  template std::optional<Tridiagonal> lanczos<T>(backend::Context&, const SymmetricOperator<T>&, \
                                                 int64_t, const backend::Arena<T>&);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::curvature
