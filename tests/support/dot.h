// The scalar product of two vectors in host memory.
#pragma once

#include <numeric>
#include <vector>

namespace saddle {

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace saddle
