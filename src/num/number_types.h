// All number types, and the lists for which operations are instantiated.
#pragma once

#include "num/bf16.h"
#include "num/dual.h"
#include "num/jet.h"
#include "num/number.h"
#include "num/real.h"

// Number types of a forward.
#define SADDLE_FOR_FORWARD_NUMBERS(X) \
  SADDLE_FOR_ADJOINT_NUMBERS(X)       \
  X(::saddle::num::Jet<float>)        \
  X(::saddle::num::Jet<double>)

// Number types of an adjoint.
#define SADDLE_FOR_ADJOINT_NUMBERS(X) \
  X(float)                            \
  X(double)                           \
  X(::saddle::num::Dual<float>)       \
  X(::saddle::num::Dual<double>)

namespace saddle::num {

// Whether adjoints also run over S.
template <class S>
inline constexpr bool kHasAdjoint = kPlanes<S> < 3;

}  // namespace saddle::num
