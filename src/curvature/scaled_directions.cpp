#include "curvature/scaled_directions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/elementwise.h"
#include "ops/reduce.h"

namespace saddle::curvature {
namespace {

// The exponent for which 2^exponent `mean_square`^(1/2) is in [1, 2); 0 if there is none.
template <class T>
int scaling_exponent(double mean_square) {
  if (!std::isfinite(mean_square) || mean_square <= 0) return 0;
  constexpr int kMost = std::numeric_limits<T>::max_exponent - 2;  // both powers are normal numbers
  return std::clamp(-std::ilogb(std::sqrt(mean_square)), -kMost, kMost);
}

}  // namespace

template <class T>
ScaledDirections<T>::ScaledDirections(backend::Context& context,
                                      const backend::Arena<T>& directions, int64_t count)
    : context_(context), directions_(directions) {
  const auto size = static_cast<double>(directions.layout().size());
  for (int64_t k = 0; k < count; ++k) {
    const double squares =
        ops::read_sum_of_squares<T>(context, directions.all().worker_range(k, 1)).front();
    exponents_.push_back(scaling_exponent<T>(squares / size));
    multiply(k, exponents_.back());
  }
}

template <class T>
ScaledDirections<T>::~ScaledDirections() {
  for (size_t k = 0; k < exponents_.size(); ++k) {
    multiply(static_cast<int64_t>(k), -exponents_[k]);
  }
}

template <class T>
double ScaledDirections<T>::form_before(int64_t k, double form) const {
  return std::ldexp(form, -2 * exponents_[static_cast<size_t>(k)]);
}

template <class T>
void ScaledDirections<T>::multiply(int64_t k, int exponent) const {
  if (exponent == 0) return;
  ops::scale<T>(context_, std::ldexp(1.0, exponent), directions_.all().worker_range(k, 1));
}

template class ScaledDirections<float>;
template class ScaledDirections<double>;

}  // namespace saddle::curvature
