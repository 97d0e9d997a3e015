// Eigenvalues and spectral density of a symmetric operator that is known only by its products.
//
// Lanczos with full reorthogonalization (Golub and Van Loan, "Matrix computations", 4th edition,
// section 10.3) turns m products into a tridiagonal T of size m. Its eigenvalues (Ritz values)
// approach the operator's, the outer ones first. Along a random start vector, Ritz values and the
// squared first components of T's eigenvectors are the nodes and weights of a Gauss quadrature of
// the spectral density (stochastic Lanczos quadrature: Ubaru, Chen and Saad, "Fast estimation of
// tr(f(A)) via stochastic Lanczos quadrature", SIAM J. Matrix Anal. Appl. 2017; for neural networks
// Ghorbani, Krishnan and Xiao, "An investigation into neural net optimization via Hessian
// eigenvalue density", ICML 2019).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "backend/tensor.h"

namespace saddle::curvature {

struct Tridiagonal {
  std::vector<double> diagonal;
  // [i] couples i and i + 1; the last one is the norm of the remainder after the last vector, 0 if
  // the Krylov subspace of the start vector is exhausted. As many entries as the diagonal has.
  std::vector<double> off_diagonal;
  // Norms of this size are rounding: the error of a product in T, for the size of the operator.
  double rounding = 0;
};

struct RitzValue {
  double value = 0;
  // |A u - value u| of the Ritz vector u: some eigenvalue is that near. At least the rounding of
  // the products.
  double residual = 0;
  double weight = 0;  // of the quadrature; all weights sum to 1
};

// Ascending.
std::vector<RitzValue> ritz_values(const Tridiagonal& tridiagonal);

// Writes A v to `product`, both [1, 1, D_padded]; false: asked to stop.
template <class T>
using SymmetricOperator = std::function<bool(backend::View<const T> v, backend::View<T> product)>;

// At most `steps` products, starting with the vector in lane 0 of `basis` [steps + 1, D_padded],
// which is normalized; the other lanes are written. Every new vector is orthogonalized twice
// against all previous ones, with sums in double. Nothing if the operator was asked to stop.
// Errors: kNumeric if a product is not finite; kInternal if the start vector is zero.
template <class T>
std::optional<Tridiagonal> lanczos(backend::Context& context, const SymmetricOperator<T>& apply,
                                   int64_t steps, const backend::Arena<T>& basis);

}  // namespace saddle::curvature
