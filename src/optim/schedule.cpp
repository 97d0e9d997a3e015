#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace saddle::optim {

double learning_rate(const config::OptimizerSettings& settings, int64_t tokens,
                     int64_t total_tokens) {
  const auto position = static_cast<double>(tokens);
  const auto total = static_cast<double>(total_tokens);
  const double warmup = settings.warmup_fraction * total;
  if (position < warmup) return settings.lr * position / warmup;
  if (total <= warmup) return settings.lr;
  const double progress = std::clamp((position - warmup) / (total - warmup), 0.0, 1.0);
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return settings.lr * (settings.min_lr_ratio + (1.0 - settings.min_lr_ratio) * cosine);
}

}  // namespace saddle::optim
