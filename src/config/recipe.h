// The recipe: the settings that decide the numbers of a run. A run may be continued only under the
// same recipe; the other settings (place, execution, retention) may change.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "config/settings.h"

namespace saddle::config {

// The recipe settings as a flat object, dotted key -> value; an exponent of adaptive consensus that
// was left out is the 1 that it stands for. What is not a setting but decides the
// numbers too (the identity of the token cache) is added by the trainer.
Json recipe(const Settings& settings);

// The keys whose values differ, or that only one of the two objects has, in the order of `a` and
// then of `b`. Empty: the same recipe.
std::vector<std::string> differing_fields(const Json& a, const Json& b);

}  // namespace saddle::config
