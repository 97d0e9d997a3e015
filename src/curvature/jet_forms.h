// Quadratic forms over second-order jets: the second derivative of the loss along v is v'Hv, and
// needs no adjoint and no stored activations (Griewank and Walther, "Evaluating Derivatives", 2nd
// ed., chapter 13). One direction after another.
#pragma once

#include <memory>

#include "curvature/quadratic_forms.h"

namespace saddle::curvature {

// As make_quadratic_forms(); options.method is ignored.
template <class T>
std::unique_ptr<QuadraticForms<T>> make_jet_forms(backend::Context& context,
                                                  const config::ModelSettings& model,
                                                  FormOptions options, int64_t sequences,
                                                  const backend::Arena<T>& weights);

}  // namespace saddle::curvature
