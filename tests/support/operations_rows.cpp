// Rows of the operations that work on rows of activations.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/rmsnorm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"
#include "support/operations_row.h"

namespace saddle::operations {
namespace {

constexpr double kEps = 0.1;      // large enough to matter, so that y != 1 for a single column
constexpr double kTheta = 100.0;  // small, so that a short test rotates every pair noticeably

double elements(const Sizes& s) {
  return static_cast<double>(s.rows() * s.width);
}

template <class N>
void plain_rmsnorm(int64_t rows, int64_t cols, const std::vector<N>& x, const std::vector<N>& gain,
                   std::vector<N>& y) {
  for (int64_t m = 0; m < rows; ++m) {
    N squares = 0;
    for (int64_t c = 0; c < cols; ++c) squares += x[m * cols + c] * x[m * cols + c];
    const N root = std::sqrt(squares / static_cast<double>(cols) + kEps);
    for (int64_t c = 0; c < cols; ++c) y[m * cols + c] = x[m * cols + c] / root * gain[c];
  }
}

struct RmsNorm : Row {
  static constexpr Moves kAdjointMoves = Moves::kAtLeast;  // partial sums of the gain's gradient
  static constexpr const char* kName = "rmsnorm";
  static constexpr double kFloatTolerance = 1e-6;
  static constexpr const char* kFloatReason =
      "a handful of roundings of 6e-8 each, sums over at most 65 numbers in vector lanes";
  static Slots inputs(const Sizes& s) {
    return {{"x", s.rows(), s.width, Gradient::kAccumulated},
            {"gain", 1, s.width, Gradient::kAccumulated, 1, 0.1}};
  }
  static Slots outputs(const Sizes& s) { return {{"y", s.rows(), s.width}}; }
  static Slots saved(const Sizes& s) { return {{"r", s.rows(), 1}}; }
  static Cost forward_cost(const Sizes& s) { return {4 * elements(s), 2 * elements(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {9 * elements(s), 4 * elements(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::rmsnorm_forward<S>(run.context, run.in[0], run.in[1], kEps, run.out[0], run.saved[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::rmsnorm_adjoint<S>(run.context, run.in[0], run.in[1], run.saved[0], run.d_out[0],
                            run.d_in[0], run.d_in[1]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    plain_rmsnorm(p.sizes.rows(), p.sizes.width, p.in[0], p.in[1], p.out[0]);
  }
};

struct ResidualRmsNorm : Row {
  static constexpr Moves kAdjointMoves = Moves::kAtLeast;  // partial sums of the gain's gradient
  static constexpr const char* kName = "residual_rmsnorm";
  static constexpr double kFloatTolerance = RmsNorm::kFloatTolerance;
  static constexpr const char* kFloatReason = RmsNorm::kFloatReason;
  static Slots inputs(const Sizes& s) {
    return {{"x", s.rows(), s.width, Gradient::kAccumulated},
            {"delta", s.rows(), s.width},
            {"gain", 1, s.width, Gradient::kAccumulated, 1, 0.1}};
  }
  static Slots outputs(const Sizes& s) {
    return {{"x_new", s.rows(), s.width}, {"y", s.rows(), s.width}};
  }
  static Slots saved(const Sizes& s) { return RmsNorm::saved(s); }
  static Cost forward_cost(const Sizes& s) { return {5 * elements(s), 4 * elements(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {11 * elements(s), 10 * elements(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::residual_rmsnorm_forward<S>(run.context, run.in[0], run.in[1], run.in[2], kEps, run.out[0],
                                     run.out[1], run.saved[0]);
  }
  // The adjoint of x_new, including what rmsnorm's adjoint adds to it, passes to x and delta.
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::copy<S>(run.context, run.d_out[0], run.d_in[1]);
    ops::rmsnorm_adjoint<S>(run.context, run.out[0], run.in[2], run.saved[0], run.d_out[1],
                            run.d_in[1], run.d_in[2]);
    ops::accumulate<S>(run.context, run.d_in[1], run.d_in[0]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    for (size_t i = 0; i < p.in[0].size(); ++i) p.out[0][i] = p.in[0][i] + p.in[1][i];
    plain_rmsnorm(p.sizes.rows(), p.sizes.width, p.out[0], p.in[2], p.out[1]);
  }
};

struct SwiGlu : Row {
  static constexpr const char* kName = "swiglu";
  static constexpr double kFloatTolerance = 1e-6;
  static constexpr const char* kFloatReason = "under ten roundings of 6e-8 each, no sums";
  static double size(const Sizes& s) { return static_cast<double>(s.rows() * s.ffn); }
  static Slots inputs(const Sizes& s) {
    return {{"gate", s.rows(), s.ffn, Gradient::kWritten, 0, 2}, {"up", s.rows(), s.ffn}};
  }
  static Slots outputs(const Sizes& s) { return {{"a", s.rows(), s.ffn}}; }
  static Cost forward_cost(const Sizes& s) { return {5 * size(s), 3 * size(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {10 * size(s), 5 * size(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::swiglu_forward<S>(run.context, run.in[0], run.in[1], run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::swiglu_adjoint<S>(run.context, run.in[0], run.in[1], run.d_out[0], run.d_in[0],
                           run.d_in[1]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    for (size_t i = 0; i < p.in[0].size(); ++i) {
      const N g = p.in[0][i];
      p.out[0][i] = g / (1.0 + std::exp(-g)) * p.in[1][i];
    }
  }
};

struct Rope : Row {
  static constexpr const char* kName = "rope";
  static constexpr double kFloatTolerance = 5e-7;
  static constexpr const char* kFloatReason = "tables rounded once (6e-8), two products and a sum";
  static int64_t cols(const Sizes& s) { return s.heads * s.head_size; }
  static double size(const Sizes& s) { return static_cast<double>(s.rows() * cols(s)); }
  static Slots inputs(const Sizes& s) { return {{"x", s.rows(), cols(s)}}; }
  static Slots outputs(const Sizes& s) { return {{"y", s.rows(), cols(s)}}; }
  static Slots constants(const Sizes& s) {
    return {{"cos", s.positions, s.head_size / 2}, {"sin", s.positions, s.head_size / 2}};
  }
  static Cost forward_cost(const Sizes& s) { return {3 * size(s), 2 * size(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return forward_cost(s); }
  template <class S>
  static void prepare(Run<S>& run) {
    ops::rope_tables<Plane<S>>(run.context, kTheta, run.constants[0], run.constants[1]);
    ops::copy<S>(run.context, run.in[0], run.out[0]);
  }
  template <class S>
  static void forward(Run<S>& run) {
    ops::rope_forward<S>(run.context, {run.constants[0], run.constants[1]}, run.sizes.positions,
                         run.out[0]);
  }
  template <class S>
  static void prepare_adjoint(Run<S>& run) {
    ops::copy<S>(run.context, run.d_out[0], run.d_in[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::rope_adjoint<S>(run.context, {run.constants[0], run.constants[1]}, run.sizes.positions,
                         run.d_in[0]);
  }
  // As a complex number: pair (a, b) at position t times e^(i t theta^(-2 i / h)).
  template <class N>
  static void plain(Plain<N>& p) {
    const int64_t size = p.sizes.head_size;
    for (int64_t m = 0; m < p.sizes.rows(); ++m) {
      for (int64_t c = 0; c < cols(p.sizes); ++c) {
        const int64_t i = c % size % (size / 2);
        const auto t = static_cast<double>(m % p.sizes.positions);
        const double angle =
            t / std::pow(kTheta, 2.0 * static_cast<double>(i) / static_cast<double>(size));
        const int64_t first = m * cols(p.sizes) + c / size * size + i;
        const N a = p.in[0][first];
        const N b = p.in[0][first + size / 2];
        p.out[0][m * cols(p.sizes) + c] = c % size < size / 2
                                              ? a * std::cos(angle) - b * std::sin(angle)
                                              : a * std::sin(angle) + b * std::cos(angle);
      }
    }
  }
};

struct Add : Row {
  static constexpr const char* kName = "add";
  static constexpr double kFloatTolerance = 2e-7;
  static constexpr const char* kFloatReason =
      "one rounding of 6e-8 of the result, and of each term";
  static Slots inputs(const Sizes& s) {
    return {{"x", s.rows(), s.width}, {"y", s.rows(), s.width, Gradient::kAccumulated}};
  }
  static Slots outputs(const Sizes& s) { return {{"z", s.rows(), s.width}}; }
  static Cost forward_cost(const Sizes& s) { return {elements(s), 3 * elements(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {elements(s), 5 * elements(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::add_forward<S>(run.context, run.in[0], run.in[1], run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::copy<S>(run.context, run.d_out[0], run.d_in[0]);
    ops::accumulate<S>(run.context, run.d_out[0], run.d_in[1]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    for (size_t i = 0; i < p.in[0].size(); ++i) p.out[0][i] = p.in[0][i] + p.in[1][i];
  }
};

// For planes of double a copy. bfloat16 has 8 significant bits.
struct RoundBf16 : Row {
  static constexpr const char* kName = "round_bf16";
  static constexpr double kFloatTolerance = 1e-7;
  static constexpr const char* kFloatReason =
      "the inputs, and with them derivatives, are rounded to 6e-8; values are exact";
  static Slots inputs(const Sizes& s) { return {{"x", s.rows(), s.width}}; }
  static Slots outputs(const Sizes& s) { return {{"y", s.rows(), s.width}}; }
  static Cost forward_cost(const Sizes& s) { return {elements(s), 2 * elements(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {0, 2 * elements(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::round_bf16<S>(run.context, run.in[0], run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::copy<S>(run.context, run.d_out[0], run.d_in[0]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    p.out[0] = p.in[0];
  }
  // Through the exponent: num::round_to_bf16() goes through the bits.
  static void rounded(Plain<double>& p) {
    for (size_t i = 0; i < p.in[0].size(); ++i) {
      int exponent = 0;
      const double fraction = std::frexp(static_cast<float>(p.in[0][i]), &exponent);
      p.out[0][i] = std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
    }
  }
  static constexpr void (*kPlainFloat)(Plain<double>&) = &rounded;
};

}  // namespace

std::vector<Operation> row_operations() {
  return {row<RmsNorm>(), row<ResidualRmsNorm>(), row<SwiGlu>(), row<Rope>(),
          row<Add>(),     row<RoundBf16>()};
}

}  // namespace saddle::operations
