// Differences between numbers in which a NaN never counts as a small difference: std::max would
// ignore a NaN.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace saddle {

// `error`, or infinity if it is not finite.
inline double or_infinity(double error) {
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

// The largest |a[i] - b[i]|; infinity if one is not finite or the sizes differ.
template <class A, class B>
double largest_difference(const std::vector<A>& a, const std::vector<B>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    largest = std::max(largest, or_infinity(std::abs(difference)));
  }
  return largest;
}

}  // namespace saddle
