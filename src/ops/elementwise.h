// Sums, copies and rounding of whole tensors. All views of a call have the same shape.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

// Writes `value` everywhere.
template <class S>
void fill(Context& context, double value, View<S> x);

// Writes y = x.
template <class S>
void copy(Context& context, View<const S> x, View<S> y);

// Writes z = x + y; z may be x or y. (Linear: the adjoint of both is dz.)
template <class S>
void add_forward(Context& context, View<const S> x, View<const S> y, View<S> z);

// Writes z = x - y; z may be x or y.
template <class S>
void subtract(Context& context, View<const S> x, View<const S> y, View<S> z);

// y += x.
template <class S>
void accumulate(Context& context, View<const S> x, View<S> y);

// y += factor x.
template <class S>
void add_scaled(Context& context, double factor, View<const S> x, View<S> y);

// x *= factor.
template <class S>
void scale(Context& context, double factor, View<S> x);

// Writes y = x with values rounded to bfloat16 (num/bf16.h) and derivatives unchanged; y may be x.
// For planes of double it copies.
template <class S>
void round_bf16(Context& context, View<const S> x, View<S> y);

// Writes y = x in the type in which it is stored, so rounded for Bf16 (ops/common.h).
template <class L>
void store_as(Context& context, View<const Arithmetic<L>> x, View<L> y);

}  // namespace saddle::ops
