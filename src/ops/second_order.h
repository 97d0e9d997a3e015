// Code shared by the operations with a second-order sweep. For a scalar loss and a computation
// z = f(parents), the form v'Hv is the sum over all operations of
//
//   <adjoint of z, D^2 f [parents', parents']>          ' is the tangent along the direction v
//
// (docs/math/curvature.md). An operation's sweep therefore takes its inputs [1, ...], the adjoint
// of its output [1, ...] and the inputs' tangents along G directions [G, ...]; it writes the
// tangents of its output and adds its term of direction g to forms [G, 1, 1]. Tangents of x are
// named x_t.
//
// Formulas are not written a second time: the forward's row functions run over jets whose second
// derivative starts as zero.
#pragma once

#include "ops/common.h"
#include "ops/reduce.h"
#include "ops/second_order_rows.h"

namespace saddle::ops {

using Forms = View<double>;  // [G, 1, 1]

}  // namespace saddle::ops
