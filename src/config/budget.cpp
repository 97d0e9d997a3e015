#include "config/budget.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace saddle::config {
namespace {

constexpr double kMaxBudget = 1e15;  // targets: far from where a double skips integers
constexpr double kMaxEpochs = 1e6;

}  // namespace

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

void check_budget(const Settings& settings) {
  const double budget = budget_targets(settings);
  const double epoch = epoch_targets(settings);
  if (budget > kMaxBudget) {
    fail(ErrorKind::kConfig,
         "training.tokens_per_parameter ({}) times {} parameters is more than {} targets",
         settings.training.tokens_per_parameter, parameter_count(settings.model), kMaxBudget);
  }
  const double block = static_cast<double>(settings.model.context_length);
  if (epoch < std::min(block, budget)) {
    fail(ErrorKind::kConfig,
         "a virtual epoch of {} targets (training.epoch_tokens or epoch_tokens_per_parameter) is "
         "shorter than model.context_length ({})",
         epoch, settings.model.context_length);
  }
  if (budget / epoch > kMaxEpochs) {
    fail(ErrorKind::kConfig,
         "a budget of {} targets in virtual epochs of {} (training.epoch_tokens or "
         "epoch_tokens_per_parameter) makes more than {} epochs",
         budget, epoch, kMaxEpochs);
  }
}

std::vector<int64_t> epoch_boundaries(const Settings& settings) {
  check_budget(settings);
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
