// Sums over whole tensors, in double and in an order that does not depend on the number of threads.
// Results stay on the device, in one number for each worker [N, 1, 1]; the host reads them by
// backend::to_host().
#pragma once

#include <vector>

#include "ops/common.h"

namespace saddle::ops {

// Writes for each worker the sum of x^2 (of the values). Not finite if an element is not.
template <class T>
void sum_of_squares(Context& context, View<const T> x, View<double> totals);

// Writes for each worker the dot product of x and y (of the values).
template <class T>
void dot(Context& context, View<const T> x, View<const T> y, View<double> totals);

// Writes for each worker the sum of x: of the values and, if the numbers have them, of the
// derivatives.
template <class S>
void sum(Context& context, View<const S> x, View<num::Wide<S>> totals);

// The same, but accumulates; the dot product times `factor`.
template <class S>
void add_sum(Context& context, View<const S> x, View<num::Wide<S>> totals);
template <class T>
void add_dot(Context& context, View<const T> x, View<const T> y, View<double> totals,
             double factor = 1);

// The same sums in host memory, one number for each worker; the host waits for them.
template <class T>
std::vector<double> read_sum_of_squares(Context& context, View<const T> x);
template <class T>
std::vector<double> read_dot(Context& context, View<const T> x, View<const T> y);
template <class S>
std::vector<num::Wide<S>> read_sum(Context& context, View<const S> x);

}  // namespace saddle::ops
