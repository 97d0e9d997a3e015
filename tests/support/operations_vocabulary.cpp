// Rows of the projections and of operations that have the vocabulary as a dimension.
#include <cmath>

#include "ops/cross_entropy.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/output_head.h"
#include "support/operations_row.h"

namespace saddle::operations {
namespace {

// More rows than the head's gradient processes at a time, and not a multiple of any chunk; and more
// pieces than a tile of its logits has columns.
constexpr Sizes kManyRows{
    .name = "many_rows", .positions = ops::kOutputHeadRows + 75, .width = 5, .vocabulary = 37};

constexpr Sizes kManyPieces{.name = "many_pieces",
                            .positions = 7,
                            .width = 5,
                            .vocabulary = 2 * ops::kOutputHeadColumns + 53};

template <class N>
void plain_product(int64_t rows, int64_t in, int64_t out, const std::vector<N>& x,
                   const std::vector<N>& weight, std::vector<N>& y) {
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t o = 0; o < out; ++o) {
      N sum = 0;
      for (int64_t i = 0; i < in; ++i) sum += x[m * in + i] * weight[o * in + i];
      y[m * out + o] = sum;
    }
  }
}

template <class N>
void plain_losses(const Sizes& s, const std::vector<N>& z, const std::vector<int32_t>& targets,
                  std::vector<N>& losses) {
  for (int64_t m = 0; m < s.rows(); ++m) {
    N sum = 0;
    for (int64_t v = 0; v < s.vocabulary; ++v) sum += std::exp(z[m * s.vocabulary + v]);
    losses[m] =
        targets[m] == kIgnoredTarget ? N(0) : std::log(sum) - z[m * s.vocabulary + targets[m]];
  }
}

template <ops::Store kStore>
struct Linear : Row {
  static constexpr const char* kName =
      kStore == ops::Store::kWrite ? "linear" : "linear_accumulating";
  static constexpr bool kProducts = true;
  static constexpr double kFloatTolerance = 2e-6;
  static constexpr const char* kFloatReason =
      "sums over at most 150 products in float, roundings of 6e-8 with random sign";
  static Slots inputs(const Sizes& s) {
    return {{"x", s.rows(), s.width,
             kStore == ops::Store::kWrite ? Gradient::kWritten : Gradient::kAccumulated},
            {"weight", s.ffn, s.width, Gradient::kAccumulated}};
  }
  static Slots outputs(const Sizes& s) { return {{"y", s.rows(), s.ffn}}; }
  static Cost forward_cost(const Sizes& s) {
    return {2.0 * static_cast<double>(s.rows() * s.width * s.ffn),
            static_cast<double>(s.rows() * (s.width + s.ffn) + s.width * s.ffn)};
  }
  static Cost adjoint_cost(const Sizes& s) {
    const Cost cost = forward_cost(s);
    return {2 * cost.operations, 2 * cost.moves};
  }
  template <class S>
  static void forward(Run<S>& run) {
    ops::linear_forward<S>(run.context, run.in[0], run.in[1], run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::linear_adjoint_input<S>(run.context, run.d_out[0], run.in[1], kStore, run.d_in[0]);
    ops::linear_adjoint_weight<S>(run.context, run.in[0], run.d_out[0], run.d_in[1]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    plain_product(p.sizes.rows(), p.sizes.width, p.sizes.ffn, p.in[0], p.in[1], p.out[0]);
  }
};

struct CrossEntropy : Row {
  static constexpr const char* kName = "cross_entropy";
  static constexpr Indices kIndices = Indices::kTargets;
  static constexpr bool kWeighted = true;
  static constexpr double kFloatTolerance = 2e-6;
  static constexpr const char* kFloatReason =
      "a loss is a difference of numbers around 5, each rounded to 5e-7; the norm averages that";
  static double size(const Sizes& s) { return static_cast<double>(s.rows() * s.vocabulary); }
  static Slots inputs(const Sizes& s) { return {{"logits", s.rows(), s.vocabulary}}; }
  static Slots outputs(const Sizes& s) { return {{"losses", s.rows(), 1}}; }
  static Slots saved(const Sizes& s) { return {{"lse", s.rows(), 1}}; }
  static std::vector<Sizes> more_cases() {
    return {kManyPieces};  // several blocks of the sum
  }
  static Cost forward_cost(const Sizes& s) { return {3 * size(s), size(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {3 * size(s), 2 * size(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::cross_entropy_forward<S>(run.context, run.in[0], run.indices, run.out[0], run.saved[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::cross_entropy_adjoint<S>(run.context, run.in[0], run.indices, run.saved[0], run.weights,
                                  run.d_in[0]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    plain_losses(p.sizes, p.in[0], p.indices, p.out[0]);
  }
};

// The adjoint also computes the losses.
struct OutputHead : Row {
  static constexpr const char* kName = "output_head";
  static constexpr Indices kIndices = Indices::kTargets;
  static constexpr bool kWeighted = true;
  static constexpr bool kProducts = true;
  static constexpr double kFloatTolerance = 5e-6;
  static constexpr const char* kFloatReason =
      "the roundings of cross_entropy and of products over at most 1099 rows";
  static Slots inputs(const Sizes& s) {
    return {{"x", s.rows(), s.width},
            {"table", s.vocabulary, s.width, Gradient::kAccumulated, 0, 0.3}};
  }
  static Slots outputs(const Sizes& s) { return {{"losses", s.rows(), 1}}; }
  static std::vector<Sizes> more_cases() { return {kManyRows, kManyPieces}; }
  static Cost forward_cost(const Sizes& s) {
    return {2.0 * static_cast<double>(s.rows() * s.width * s.vocabulary),
            static_cast<double>((s.rows() + s.vocabulary) * s.width)};
  }
  static Cost adjoint_cost(const Sizes& s) {
    const Cost cost = forward_cost(s);
    return {3 * cost.operations, 3 * cost.moves};
  }
  template <class S>
  static void forward(Run<S>& run) {
    ops::output_head_loss<S>(run.context, run.in[0], run.in[1], run.indices, run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::output_head_loss_and_gradient<S>(run.context, run.in[0], run.in[1], run.indices,
                                          run.weights, run.out[0], run.d_in[0], run.d_in[1]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    const Sizes& s = p.sizes;
    std::vector<N> z(s.rows() * s.vocabulary);
    plain_product(s.rows(), s.width, s.vocabulary, p.in[0], p.in[1], z);
    plain_losses(s, z, p.indices, p.out[0]);
  }
};

struct Embedding : Row {
  static constexpr Moves kAdjointMoves = Moves::kAtLeast;  // every row of the table
  static constexpr const char* kName = "embedding";
  static constexpr Indices kIndices = Indices::kTokens;
  static constexpr double kFloatTolerance = 2e-6;
  static constexpr const char* kFloatReason =
      "the rounding of the inputs; the adjoint adds at most 150 rows to one";
  static double size(const Sizes& s) { return static_cast<double>(s.rows() * s.width); }
  static Slots inputs(const Sizes& s) {
    return {{"table", s.vocabulary, s.width, Gradient::kAccumulated}};
  }
  static Slots outputs(const Sizes& s) { return {{"y", s.rows(), s.width}}; }
  static Cost forward_cost(const Sizes& s) { return {0, 2 * size(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {size(s), 3 * size(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::embedding_forward<S>(run.context, run.indices, run.in[0], run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::embedding_adjoint<S>(run.context, run.indices, run.d_out[0], run.d_in[0]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    const int64_t width = p.sizes.width;
    for (int64_t m = 0; m < p.sizes.rows(); ++m) {
      for (int64_t c = 0; c < width; ++c) {
        p.out[0][m * width + c] = p.in[0][p.indices[m] * width + c];
      }
    }
  }
};

}  // namespace

std::vector<Operation> vocabulary_operations() {
  return {row<Linear<ops::Store::kWrite>>(), row<Linear<ops::Store::kAccumulate>>(),
          row<CrossEntropy>(), row<OutputHead>(), row<Embedding>()};
}

}  // namespace saddle::operations
