// What a config.json says about rope.
#pragma once

#include "model/hugging_face_fields.h"

namespace saddle::model {

// The base of the angles (rope_theta; 10000 when nothing says it) of a model with plain rope over
// heads of `head_dim` numbers. Errors: kData for scaled, partial or interleaved rope, for any field
// about rope that is not known, and for two fields that contradict each other, by name.
double rope_theta_of(const HuggingFaceFields& config, int64_t head_dim);

}  // namespace saddle::model
