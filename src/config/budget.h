// The training budget in prediction targets, and the virtual epochs into which it is divided.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings.h"

namespace saddle::config {

// training.max_tokens, or training.tokens_per_parameter for each unique parameter, rounded up to
// a whole target.
double budget_targets(const Settings& settings);

// training.epoch_tokens, or training.epoch_tokens_per_parameter for each unique parameter. Not
// rounded: only the boundaries are.
double epoch_targets(const Settings& settings);

// Errors: kConfig for a budget that is too large, for too many epochs in it, and for epochs
// shorter than a block.
void check_budget(const Settings& settings);

// The ends of the virtual epochs in blocks of context_length targets, cumulative:
// boundary k = ceil(min(k * epoch, budget) / context_length), k = 1, 2, ... The last is the whole
// budget; a last epoch that rounding leaves without a block is dropped. Errors: those of
// check_budget().
std::vector<int64_t> epoch_boundaries(const Settings& settings);

// The tokens that the whole budget reads: all its blocks and one token of lookahead.
int64_t budget_tokens(const Settings& settings);

}  // namespace saddle::config
