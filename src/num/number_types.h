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

// Types in which inputs of products are stored, in a forward and in an adjoint: the number type
// itself, or Bf16 for float under autocast.
#define SADDLE_FOR_FORWARD_STORAGE(X) \
  SADDLE_FOR_FORWARD_NUMBERS(X)       \
  X(::saddle::num::Bf16)
#define SADDLE_FOR_ADJOINT_STORAGE(X) \
  SADDLE_FOR_ADJOINT_NUMBERS(X)       \
  X(::saddle::num::Bf16)

namespace saddle::num {

// Whether adjoints also run over S.
template <class S>
inline constexpr bool kHasAdjoint = kPlanes<S> < 3;

// x with its value rounded to bf16 and its derivatives unchanged; numbers over double are
// unchanged.
template <class S>
constexpr S with_value_rounded_to_bf16(S x) {
  if constexpr (std::is_same_v<Plane<S>, float>) {
    NumberTraits<S>::set(x, 0, round_to_bf16(value(x)));
  }
  return x;
}

}  // namespace saddle::num
