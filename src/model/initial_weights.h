// Initial weights: normal with standard deviation 0.02; 0.02 / sqrt(2 layers) for the two
// projections of a block that write to the residual stream (Radford et al., "Language models are
// unsupervised multitask learners", 2019, section 2.3); gains 1.
#pragma once

#include <cstdint>

#include "backend/tensor.h"
#include "config/settings.h"

namespace saddle::model {

// Writes the same values to every worker of `weights`. They depend on the seed, the index of the
// parameter in the canonical order and the index within it, and on the number type only by
// rounding.
template <class T>
void set_initial_weights(backend::Context& context, const config::ModelSettings& model,
                         uint64_t seed, backend::Arena<T>& weights);

}  // namespace saddle::model
