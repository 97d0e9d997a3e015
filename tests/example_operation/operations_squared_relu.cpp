// The row of the example in the operations table.
#include "example_operation/squared_relu.h"
#include "support/operations_row.h"

namespace saddle::operations {
namespace {

struct SquaredRelu : Row {
  static constexpr const char* kName = "squared_relu";
  static constexpr double kFloatTolerance = 1e-6;
  static constexpr const char* kFloatReason = "three roundings of 6e-8 each";
  static double elements(const Sizes& s) { return static_cast<double>(s.rows() * s.width); }
  static Slots inputs(const Sizes& s) {
    return {{"x", s.rows(), s.width, Gradient::kAccumulated, 0.5}};
  }
  static Slots outputs(const Sizes& s) { return {{"y", s.rows(), s.width}}; }
  static Cost forward_cost(const Sizes& s) { return {2 * elements(s), 2 * elements(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {3 * elements(s), 4 * elements(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::squared_relu_forward<S>(run.context, run.in[0], run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::squared_relu_adjoint<S>(run.context, run.in[0], run.d_out[0], run.d_in[0]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    for (size_t i = 0; i < p.in[0].size(); ++i) {
      const N x = p.in[0][i];
      p.out[0][i] = std::real(x) < 0 ? N(0) : x * x;
    }
  }
};

}  // namespace

std::vector<Operation> example_operations() {
  return {row<SquaredRelu>()};
}

}  // namespace saddle::operations
