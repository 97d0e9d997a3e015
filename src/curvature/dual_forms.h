// Quadratic forms over dual numbers: v'Hv = v . (tangent of the gradient), one direction after
// another. With compile = false: double backward; with the plan: forward over reverse.
#pragma once

#include <memory>

#include "curvature/quadratic_forms.h"

namespace saddle::curvature {

// As make_quadratic_forms(); options.method is ignored.
template <class T>
std::unique_ptr<QuadraticForms<T>> make_dual_forms(backend::Context& context,
                                                   const config::ModelSettings& model,
                                                   FormOptions options, bool compile,
                                                   int64_t sequences,
                                                   const backend::Arena<T>& weights);

}  // namespace saddle::curvature
