#include "config/budget.h"

#include <algorithm>
#include <cmath>

namespace saddle::config {

double budget_targets(const Settings& settings) {
  const TrainingSettings& training = settings.training;
  if (training.max_tokens) return static_cast<double>(*training.max_tokens);
  return std::ceil(training.tokens_per_parameter *
                   static_cast<double>(parameter_count(settings.model)));
}

double epoch_targets(const Settings& settings) {
  const TrainingSettings& training = settings.training;
  if (training.epoch_tokens) return static_cast<double>(*training.epoch_tokens);
  return training.epoch_tokens_per_parameter * static_cast<double>(parameter_count(settings.model));
}

std::vector<int64_t> epoch_boundaries(const Settings& settings) {
  const double budget = budget_targets(settings);
  const double epoch = epoch_targets(settings);
  const auto context = static_cast<double>(settings.model.context_length);
  std::vector<int64_t> boundaries;
  double end = 0;
  for (int64_t k = 1; end < budget; ++k) {
    end = std::min(static_cast<double>(k) * epoch, budget);
    const auto blocks = static_cast<int64_t>(std::ceil(end / context));
    if (boundaries.empty() || blocks > boundaries.back()) boundaries.push_back(blocks);
  }
  return boundaries;
}

int64_t budget_tokens(const Settings& settings) {
  const auto context = static_cast<double>(settings.model.context_length);
  const auto blocks = static_cast<int64_t>(std::ceil(budget_targets(settings) / context));
  return blocks * settings.model.context_length + 1;
}

}  // namespace saddle::config
