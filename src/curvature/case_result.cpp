#include "curvature/case_result.h"

#include <cmath>

namespace saddle::curvature {
namespace {

// The sum of fn(sample) over samples; nothing without samples.
template <class Samples, class Fn>
std::optional<double> sum_over(const Samples& samples, Fn&& fn) {
  if (samples.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& sample : samples) sum += fn(sample);
  return sum;
}

template <class Samples, class Fn>
std::optional<double> mean_over(const Samples& samples, Fn&& fn) {
  const std::optional<double> sum = sum_over(samples, fn);
  if (!sum) return std::nullopt;
  return *sum / static_cast<double>(samples.size());
}

double quadratic_form(const DirectionResult& sample) {
  return sample.quadratic_form;
}
double squared_norm(const DirectionResult& sample) {
  return sample.squared_norm;
}

}  // namespace

std::optional<double> CaseResult::noise_alignment() const {
  return mean_over(noise, quadratic_form);
}

std::optional<double> CaseResult::normalized_alignment() const {
  const std::optional<double> norms = sum_over(noise, squared_norm);
  if (!norms || *norms == 0) return std::nullopt;
  return *sum_over(noise, quadratic_form) / *norms;
}

std::optional<double> CaseResult::mean_noise_norm() const {
  return mean_over(noise, [](const NoiseResult& sample) { return std::sqrt(sample.squared_norm); });
}

std::optional<double> CaseResult::mean_gradient_norm() const {
  return mean_over(noise, [](const NoiseResult& sample) { return sample.gradient_norm; });
}

std::optional<double> CaseResult::random_alignment() const {
  const std::optional<double> mean = mean_over(random, quadratic_form);
  if (!mean) return std::nullopt;
  return *mean / static_cast<double>(parameters);
}

}  // namespace saddle::curvature
