// Operations that the products of the model need according to their shapes; a multiplication and an
// addition are two. Extra work of an execution (recomputed probabilities, the masked half of a
// tile) is not counted, so that rates of different executions can be compared.
#pragma once

#include <cstdint>

#include "config/settings.h"
#include "ops/attention.h"

namespace saddle::model {

// One product of a projection or of the head: [rows, in] x [in, out], for each worker.
inline double product_operations(int64_t workers, int64_t rows, int64_t in, int64_t out) {
  return 2.0 * static_cast<double>(workers * rows) * static_cast<double>(in * out);
}

// One product of causal attention (of 2 forward and 4 backward): half of each T x T matrix.
inline double attention_operations(int64_t workers, const ops::AttentionShape& shape) {
  return static_cast<double>(workers * shape.sequences * shape.heads) *
         static_cast<double>(shape.positions * shape.positions * shape.head_size);
}

// Operations of training per token: 6 per parameter, and attention.
inline double training_operations_per_token(const config::ModelSettings& model) {
  return 6.0 * static_cast<double>(config::parameter_count(model)) +
         6.0 * static_cast<double>(model.layers * model.width * model.context_length);
}

}  // namespace saddle::model
