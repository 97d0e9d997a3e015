// Mixing of the workers of an arena: x_i = sum_j W_ij x_j, alone or in one pass with AdamW.
//
// The sums are computed in double and rounded once, so that a float weight of 1/3 does not make the
// parameters drift, and workers with equal rows of W get the same bits. Padding is mixed like
// everything else: it is zero and stays zero. docs/math/mixing.md has formulas and sources.
#pragma once

#include <span>
#include <vector>

#include "ops/adamw.h"
#include "ops/common.h"

namespace saddle::ops {

// The mixing of one update.
struct Mixing {
  enum class Order { kBeforeStep, kAfterStep };  // adapt-while-combine, adapt-then-combine

  std::vector<double> matrix;  // W [N, N], row after row; empty: nothing is mixed
  Order order = Order::kBeforeStep;
};

// Mixes x [N, 1, D] in place. Cost: 2 D operations for each nonzero entry of W, except in rows that
// equal the previous row.
template <class T>
void mix(Context& context, std::span<const double> matrix, View<T> x);

// adamw_update with mixing, one block of columns at a time, so that the arenas are read once:
//
//   kBeforeStep: w_i = (1 - lr decay) sum_j W_ij w_j - lr u_i
//   kAfterStep:  w_i = sum_j W_ij ((1 - lr decay) w_j - lr u_j)
//
// The bits are those of mix() before or after adamw_update. Moments and gradients are not mixed.
// With input.commit 0 nothing changes. `mixing` has a matrix; N > 1.
template <class T>
void adamw_update_mixed(Context& context, AdamWStep step, const Mixing& mixing,
                        std::span<const AdamWSegment> segments, AdamWInput input,
                        View<const T> gradients, View<T> weights, View<T> first_moments,
                        View<T> second_moments);

// Writes y [1, 1, D] = the mean over the workers of x [N, 1, D], summed in double.
template <class T>
void worker_mean(Context& context, View<const T> x, View<T> y);

// Writes the consensus distance (1/N) sum_i |x_i - mean|^2 of x [N, 1, D] to distance [1, 1, 1], in
// double.
template <class T>
void consensus_distance(Context& context, View<const T> x, View<double> distance);

}  // namespace saddle::ops
