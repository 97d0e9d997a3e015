// Rows of operations on whole tensors, and the table.
#include <cmath>

#include "ops/adamw.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "support/operations_row.h"

namespace saddle::operations {
namespace {

int64_t numbers(const Sizes& s) {
  return s.rows() * s.width;
}

// The sum has no adjoint: it is used for measurements, not in the model.
struct Sum : Row {
  static constexpr Moves kForwardMoves = Moves::kAtLeast;  // partial sums
  static constexpr const char* kName = "sum";
  static constexpr bool kHasAdjoint = false;
  static constexpr double kFloatTolerance = 2e-5;
  static constexpr const char* kFloatReason =
      "summed in double, but inputs and result are rounded to 6e-8 and terms of both signs cancel";
  static Slots inputs(const Sizes& s) {
    return {{"x", s.rows(), s.width, Gradient::kWritten, 0.5, 1}};
  }
  static Slots outputs(const Sizes&) { return {{"sum", 1, 1}}; }
  static Cost forward_cost(const Sizes& s) {
    return {static_cast<double>(numbers(s)), static_cast<double>(numbers(s))};
  }
  template <class S>
  static void forward(Run<S>& run) {
    const auto sums = ops::read_sum<S>(run.context, run.in[0]);
    for (int p = 0; p < num::kPlanes<S>; ++p) {
      std::vector<Plane<S>> plane;
      for (const num::Wide<S>& x : sums) {
        plane.push_back(num::NumberTraits<S>::get(num::convert<S>(x), p));
      }
      backend::copy_from_host<S>(run.context, plane.data(), p, run.out[0]);
    }
  }
  template <class N>
  static void plain(Plain<N>& p) {
    p.out[0][0] = 0;
    for (const N& x : p.in[0]) p.out[0][0] += x;
  }
};

// About a third of the numbers decays, a third does not, and the numbers between are padding. Few
// numbers, too few for two aligned segments, all decay.
struct AdamW : Row {
  static constexpr Moves kForwardMoves = Moves::kAtLeast;  // whole pieces
  static constexpr const char* kName = "adamw";
  static constexpr bool kRealOnly = true;
  static constexpr bool kHasAdjoint = false;
  static constexpr double kFloatTolerance = 1e-6;
  static constexpr const char* kFloatReason = "under ten roundings of 6e-8 each, no sums";
  static constexpr ops::AdamWStep kStep{
      .lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .step = 3};
  static std::vector<ops::AdamWSegment> segments(int64_t count) {
    constexpr int64_t kAlignment = tensor::Layout::kAlignment;
    const int64_t second = 2 * count / 3 / kAlignment * kAlignment;
    if (second == 0) return {{0, count, true}};
    return {{0, (second + 1) / 2, true}, {second, count - second, false}};
  }
  static Slots tensors(const Sizes& s, bool gradients) {
    Slots slots = {
        {"w", 1, numbers(s)}, {"m", 1, numbers(s)}, {"v", 1, numbers(s), Gradient::kWritten, 8, 1}};
    if (gradients) slots.push_back({"dw", 1, numbers(s)});
    return slots;
  }
  static Slots inputs(const Sizes& s) { return tensors(s, true); }
  static Slots outputs(const Sizes& s) { return tensors(s, false); }
  static std::vector<Sizes> more_cases() {
    return {{.name = "many_numbers", .positions = 300, .width = 431}};
  }
  static Cost forward_cost(const Sizes& s) {
    double updated = 0;
    for (const ops::AdamWSegment& segment : segments(numbers(s))) {
      updated += static_cast<double>(segment.size);
    }
    return {16 * updated, 7 * updated};
  }
  template <class S>
  static void prepare(Run<S>& run) {
    for (int i = 0; i < 3; ++i) ops::copy<S>(run.context, run.in[i], run.out[i]);
    run.pieces = ops::adamw_pieces(run.context, segments(numbers(run.sizes)));
  }
  template <class S>
  static void forward(Run<S>& run) {
    ops::adamw_update<S>(run.context, kStep, run.pieces, {run.weights, run.commit}, run.in[3],
                         run.out[0], run.out[1], run.out[2]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    p.out.assign(p.in.begin(), p.in.begin() + 3);
    for (const ops::AdamWSegment& segment : segments(numbers(p.sizes))) {
      for (int64_t i = segment.offset; i < segment.offset + segment.size; ++i) {
        N& w = p.out[0][i];
        N& m = p.out[1][i];
        N& v = p.out[2][i];
        const N g = p.weight * p.in[3][i];
        m = kStep.beta1 * m + (1 - kStep.beta1) * g;
        v = kStep.beta2 * v + (1 - kStep.beta2) * g * g;
        if (segment.decays) w -= kStep.lr * kStep.weight_decay * w;
        const double steps = static_cast<double>(kStep.step);
        w -= kStep.lr * m / (1 - std::pow(kStep.beta1, steps)) /
             (std::sqrt(v / (1 - std::pow(kStep.beta2, steps))) + kStep.eps);
      }
    }
  }
};

}  // namespace

std::vector<Operation> whole_operations() {
  return {row<Sum>(), row<AdamW>()};
}

std::vector<Operation> all_operations() {
  std::vector<Operation> all;
  for (const auto& part : {row_operations(), attention_operations(), vocabulary_operations(),
                           whole_operations(), example_operations()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<Sizes> common_cases() {
  return {
      {.name = "single"},
      {.name = "odd",
       .workers = 1,
       .sequences = 2,
       .positions = 5,
       .width = 7,
       .heads = 3,
       .head_size = 6,
       .ffn = 11,
       .vocabulary = 13},
      {.name = "workers",
       .workers = 3,
       .sequences = 2,
       .positions = 9,
       .width = 33,
       .heads = 2,
       .head_size = 8,
       .ffn = 17,
       .vocabulary = 19},
      {.name = "blocks",
       .workers = 1,
       .sequences = 1,
       .positions = 150,
       .width = 65,
       .heads = 2,
       .head_size = 4,
       .ffn = 34,
       .vocabulary = 101},
  };
}

}  // namespace saddle::operations
