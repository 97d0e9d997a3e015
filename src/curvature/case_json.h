// The results of a case as JSON. Statistics without a value, and numbers that are not finite, are
// null.
#pragma once

#include "base/json.h"
#include "curvature/case_result.h"

namespace saddle::curvature {

//   epoch        blocks, targets, loss, gradient_norm
//   parameters   D
//   statistics   noise_alignment, normalized_alignment, mean_noise_norm, mean_gradient_norm,
//                random_alignment
//   noise        [{batch, worker, targets, loss, gradient_norm, squared_norm, quadratic_form}]
//   random       [{squared_norm, quadratic_form}]
//   own, consensus   [{name, squared_norm, quadratic_form, rayleigh}], where rayleigh is
//                quadratic_form / squared_norm, null for a direction that is zero
//   spectrum     that of spectrum.h; missing if it was not requested
Json to_json(const CaseResult& result);

}  // namespace saddle::curvature
