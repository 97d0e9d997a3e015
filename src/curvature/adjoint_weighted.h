// The adjoint-weighted method (curvature/quadratic_forms.h, model/tangent_sweep.h).
#pragma once

#include <memory>

#include "curvature/quadratic_forms.h"

namespace saddle::curvature {

// Directions that are swept together: they share the probabilities of attention and of the head.
inline constexpr int64_t kSweptTogether = 8;

// As make_quadratic_forms(); options.method is ignored.
template <class T>
std::unique_ptr<QuadraticForms<T>> make_adjoint_weighted(backend::Context& context,
                                                         const config::ModelSettings& model,
                                                         FormOptions options, int64_t sequences,
                                                         const backend::Arena<T>& weights);

}  // namespace saddle::curvature
