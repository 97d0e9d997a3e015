// The rope of a model from its config.json.
#pragma once

#include "model/hugging_face_fields.h"

namespace saddle::model {

// Returns the base of the angles (rope_theta; 10000 if missing) of a model with plain rope over
// heads of `head_dim` numbers. Errors: kData, naming the field, for scaled, partial or interleaved
// rope, for any unknown field about rope, and for two fields that contradict each other.
double rope_theta_of(const HuggingFaceFields& config, int64_t head_dim);

}  // namespace saddle::model
