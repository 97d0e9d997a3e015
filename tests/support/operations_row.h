// Makes a row of the operations table from a class with templates over the number type.
#pragma once

#include "support/operations.h"

namespace saddle::operations {

// The defaults for most operations; a row hides members that differ.
struct Row {
  static Slots saved(const Sizes&) { return {}; }
  static Slots constants(const Sizes&) { return {}; }
  static constexpr Indices kIndices = Indices::kNone;
  static constexpr bool kWeighted = false;
  static constexpr bool kProducts = false;
  static constexpr bool kHasAdjoint = true;
  static constexpr bool kRealOnly = false;
  static std::vector<Sizes> more_cases() { return {}; }
  static Cost adjoint_cost(const Sizes&) { return {}; }
  static constexpr Moves kForwardMoves = Moves::kExact;
  static constexpr Moves kAdjointMoves = Moves::kExact;
  static constexpr void (*kPlainFloat)(Plain<double>&) = nullptr;  // null: the same as over double
  template <class S>
  static void prepare(Run<S>&) {}
  template <class S>
  static void prepare_adjoint(Run<S>&) {}
};

template <class S>
inline constexpr bool kIsJet = num::kPlanes<S> == 3;

template <class Op, class S>
Calls<S> calls_of() {
  Calls<S> calls;
  if constexpr (!Op::kRealOnly || num::kPlanes<S> == 1) {
    calls.prepare = &Op::template prepare<S>;
    calls.forward = &Op::template forward<S>;
    if constexpr (Op::kHasAdjoint && !kIsJet<S>) {
      calls.prepare_adjoint = &Op::template prepare_adjoint<S>;
      calls.adjoint = &Op::template adjoint<S>;
    }
  }
  return calls;
}

template <class Op>
Operation row() {
  return {Op::kName,
          &Op::inputs,
          &Op::outputs,
          &Op::saved,
          &Op::constants,
          Op::kIndices,
          Op::kWeighted,
          Op::kProducts,
          Op::kFloatTolerance,
          Op::kFloatReason,
          Op::more_cases(),
          &Op::template plain<double>,
          Op::kPlainFloat != nullptr ? Op::kPlainFloat : &Op::template plain<double>,
          &Op::template plain<std::complex<double>>,
          &Op::forward_cost,
          &Op::adjoint_cost,
          Op::kForwardMoves,
          Op::kAdjointMoves,
          {calls_of<Op, float>(), calls_of<Op, double>(), calls_of<Op, num::Dual<float>>(),
           calls_of<Op, num::Dual<double>>(), calls_of<Op, num::Jet<float>>(),
           calls_of<Op, num::Jet<double>>()}};
}

}  // namespace saddle::operations
