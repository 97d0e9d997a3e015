// Sums over whole tensors, in double and in an order that does not depend on the number of threads.
#pragma once

#include <vector>

#include "ops/common.h"

namespace saddle::ops {

// For each worker the sum of x^2 (of the values). Not finite if an element is not.
template <class T>
std::vector<double> sum_of_squares(Context& context, View<const T> x);

// For each worker the dot product of x and y (of the values).
template <class T>
std::vector<double> dot(Context& context, View<const T> x, View<const T> y);

// For each worker the sum of x: of the values and, if the numbers have them, of the derivatives.
template <class S>
std::vector<num::Wide<S>> sum(Context& context, View<const S> x);

}  // namespace saddle::ops
