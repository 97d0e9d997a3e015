// The results of the paired study of a checkpoint, as JSON and as a table.
#pragma once

#include <string>

#include "base/json.h"
#include "precision/compare_precision_case.h"

namespace saddle::precision {

// A relative difference of x from y is (x - y) / y; null if y is missing or 0.
//
//   epoch        blocks, targets
//   parameters   D
//   statistics   of loss, gradient_norm (both of the epoch), mean_gradient_norm, mean_noise_norm,
//                noise_alignment, normalized_alignment, random_alignment: {float32, autocast,
//                relative_difference of autocast from float32}
//   counterfactual   the Hessian under autocast along the float32 noise: of noise_alignment and
//                normalized_alignment: {value, from_float32 (its relative difference: the error of
//                the curvature), from_autocast (the change of direction)}
//   vectors      epoch_gradient {relative_error, cosine}; batch_gradients and noise
//                {relative_error: {mean, worst}, cosine: {mean, worst}}
//   signs        of noise, counterfactual and random: {kept, of}, the signs of v'Hv in float32
//   noise        [{batch, worker, targets, gradient: {relative_error, cosine}, noise: the same,
//                float32: {loss, gradient_norm, squared_norm, quadratic_form}, autocast: the same,
//                counterfactual: {quadratic_form}}]
//   random       [{float32: {quadratic_form}, autocast: {quadratic_form}}]
Json to_json(const PrecisionCase& result);

// `comparisons`: objects of to_json(), each with "checkpoint" (its names) and "case".
std::string precision_text(const Json& comparisons);

}  // namespace saddle::precision
