// One step of the classical Gram-Schmidt process: y -= sum_j <b_j, y> b_j.
//
// basis b [J, 1, D], orthonormal; y [1, 1, D]. The dot products are computed in double, all from
// the same y, and stay on the device. Twice in a row it is as good as the modified process (Giraud
// et al., "Rounding error analysis of the classical Gram-Schmidt orthogonalization process",
// Numerische Mathematik 101, 2005). Cost: 4 J D operations, J + 1 and J + 2 moves per element of y.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

// Changes y.
template <class T>
void orthogonalize(Context& context, View<const T> basis, View<T> y);

}  // namespace saddle::ops
