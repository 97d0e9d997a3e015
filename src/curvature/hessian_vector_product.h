// Products Hv of the Hessian of a mean loss with a vector, by Pearlmutter's method: the adjoint
// run over dual numbers whose tangent is v (Pearlmutter, "Fast exact multiplication by the
// Hessian", Neural Computation 1994).
#pragma once

#include <cstdint>

#include "curvature/dual_model.h"
#include "curvature/microbatches.h"
#include "curvature/quadratic_forms.h"

namespace saddle::curvature {

template <class T>
class HessianVectorProduct {
 public:
  // For microbatches of at most `sequences` sequences, by the plan. `weights` [1, D_padded] must
  // outlive it and is read again in every product.
  HessianVectorProduct(backend::Context& context, const config::ModelSettings& model, bool autocast,
                       int64_t sequences, const backend::Arena<T>& weights)
      : model_(context, model, {.compile = true, .autocast = autocast}, sequences, weights) {}

  // Writes Hv to `product`, both [1, 1, D_padded] (a lane of Arena::all()), where H is the Hessian
  // of sum_m loss_m / microbatches.targets(). Sums over microbatches are carried in T. The padding
  // of v must be zero; that of Hv is then zero too. Returns false and writes nothing if `progress`
  // said stop; it is called after every microbatch.
  bool apply(Microbatches& microbatches, backend::View<const T> direction, backend::View<T> product,
             const Progress& progress);

 private:
  DualModel<T> model_;
  Microbatch microbatch_;
};

}  // namespace saddle::curvature
