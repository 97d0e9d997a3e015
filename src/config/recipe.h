// The recipe: the settings that decide the numbers of a run. A run may be continued only with the
// same recipe; the other settings (place, execution, retention) may change.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "config/settings.h"

namespace saddle::config {

// The recipe settings as a flat object, dotted key -> value; a missing exponent of adaptive
// consensus is written as its default, 1. The trainer adds what is not a setting but also decides
// the numbers (the identity of the token cache).
Json recipe(const Settings& settings);

// The keys whose values differ, or that only one of the two objects has, in the order of `a` and
// then of `b`. Empty: the same recipe.
std::vector<std::string> differing_fields(const Json& a, const Json& b);

}  // namespace saddle::config
