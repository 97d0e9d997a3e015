// The learning rate: linear warmup, then a cosine (Loshchilov and Hutter, "SGDR", ICLR 2017,
// without restarts) down to a fraction of the peak.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace saddle::optim {

// The rate of the update whose last target is number `tokens` (counted from 1) of `total_tokens`:
// lr * tokens / warmup up to warmup = warmup_fraction * total_tokens, then the cosine from lr to
// min_lr_ratio * lr, which it reaches at total_tokens.
double learning_rate(const config::OptimizerSettings& settings, int64_t tokens,
                     int64_t total_tokens);

}  // namespace saddle::optim
