// Rows of attention, as one operation and in its three steps.
#include <cmath>

#include "ops/attention.h"
#include "ops/attention_steps.h"
#include "support/operations_row.h"

namespace saddle::operations {
namespace {

constexpr const char* kReason =
    "sums over a head and over at most 150 keys in float, roundings of 6e-8 with random sign";

ops::AttentionShape shape_of(const Sizes& s) {
  return {s.sequences, s.positions, s.heads, s.head_size};
}

int64_t cols(const Sizes& s) {
  return s.heads * s.head_size;
}

Slot activations(const char* name, const Sizes& s) {
  return {name, s.rows(), cols(s)};
}

Slot scores(const char* name, const Sizes& s) {
  return {name, s.sequences * s.heads * s.positions, s.positions};
}

// Operations of a product for all heads, over all keys of every query.
double full_product(const Sizes& s) {
  return 2.0 * static_cast<double>(s.rows() * s.positions) * static_cast<double>(cols(s));
}

// The same, but only over the keys that blocks of kQueryRows queries see.
double causal_product(const Sizes& s) {
  const auto block = static_cast<double>(std::min(ops::kQueryRows, s.positions));
  return full_product(s) * (1 + block / static_cast<double>(s.positions)) / 2;
}

double score_count(const Sizes& s) {
  return static_cast<double>(s.sequences * s.heads * s.positions * s.positions);
}

double activation_count(const Sizes& s) {
  return static_cast<double>(s.rows() * cols(s));
}

// Calls fn(b, i, t, row of scores, column of the head's first number) for every query.
template <class Fn>
void for_queries(const Sizes& s, Fn&& fn) {
  for (int64_t b = 0; b < s.sequences; ++b) {
    for (int64_t i = 0; i < s.heads; ++i) {
      for (int64_t t = 0; t < s.positions; ++t) fn(b, i, t);
    }
  }
}

int64_t score_at(const Sizes& s, int64_t b, int64_t i, int64_t t, int64_t key) {
  return ((b * s.heads + i) * s.positions + t) * s.positions + key;
}

int64_t activation_at(const Sizes& s, int64_t b, int64_t i, int64_t t, int64_t c) {
  return (b * s.positions + t) * cols(s) + i * s.head_size + c;
}

template <class N>
void plain_scores(const Sizes& s, const std::vector<N>& q, const std::vector<N>& k,
                  std::vector<N>& out) {
  for_queries(s, [&](int64_t b, int64_t i, int64_t t) {
    for (int64_t key = 0; key < s.positions; ++key) {
      N sum = 0;
      for (int64_t c = 0; c < s.head_size; ++c) {
        sum += q[activation_at(s, b, i, t, c)] * k[activation_at(s, b, i, key, c)];
      }
      out[score_at(s, b, i, t, key)] = sum / std::sqrt(static_cast<double>(s.head_size));
    }
  });
}

template <class N>
void plain_softmax(const Sizes& s, const std::vector<N>& scores, std::vector<N>& out) {
  for_queries(s, [&](int64_t b, int64_t i, int64_t t) {
    N sum = 0;
    for (int64_t key = 0; key <= t; ++key) sum += std::exp(scores[score_at(s, b, i, t, key)]);
    for (int64_t key = 0; key < s.positions; ++key) {
      const int64_t at = score_at(s, b, i, t, key);
      out[at] = key <= t ? std::exp(scores[at]) / sum : N(0);
    }
  });
}

template <class N>
void plain_values(const Sizes& s, const std::vector<N>& p, const std::vector<N>& v,
                  std::vector<N>& out) {
  for_queries(s, [&](int64_t b, int64_t i, int64_t t) {
    for (int64_t c = 0; c < s.head_size; ++c) {
      N sum = 0;
      for (int64_t key = 0; key < s.positions; ++key) {
        sum += p[score_at(s, b, i, t, key)] * v[activation_at(s, b, i, key, c)];
      }
      out[activation_at(s, b, i, t, c)] = sum;
    }
  });
}

struct Attention : Row {
  static constexpr const char* kName = "attention";
  static constexpr bool kProducts = true;
  static constexpr double kFloatTolerance = 2e-6;
  static constexpr const char* kFloatReason = kReason;
  static Slots inputs(const Sizes& s) {
    return {activations("q", s), activations("k", s), activations("v", s)};
  }
  static Slots outputs(const Sizes& s) { return {activations("o", s)}; }
  static Cost forward_cost(const Sizes& s) {
    return {2 * causal_product(s), 4 * activation_count(s)};
  }
  static Cost adjoint_cost(const Sizes& s) {
    return {5 * causal_product(s), 7 * activation_count(s)};
  }
  template <class S>
  static void forward(Run<S>& run) {
    ops::attention_forward<S>(run.context, shape_of(run.sizes), run.in[0], run.in[1], run.in[2],
                              run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::attention_adjoint<S>(run.context, shape_of(run.sizes), run.in[0], run.in[1], run.in[2],
                              run.d_out[0], run.d_in[0], run.d_in[1], run.d_in[2]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    std::vector<N> s(static_cast<size_t>(score_count(p.sizes)));
    plain_scores(p.sizes, p.in[0], p.in[1], s);
    plain_softmax(p.sizes, std::vector<N>(s), s);
    plain_values(p.sizes, s, p.in[2], p.out[0]);
  }
};

struct AttentionScores : Row {
  static constexpr const char* kName = "attention_scores";
  static constexpr bool kProducts = true;
  static constexpr double kFloatTolerance = 2e-6;
  static constexpr const char* kFloatReason = kReason;
  static Slots inputs(const Sizes& s) { return {activations("q", s), activations("k", s)}; }
  static Slots outputs(const Sizes& s) { return {scores("s", s)}; }
  static Cost forward_cost(const Sizes& s) { return {full_product(s), score_count(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {2 * full_product(s), 2 * score_count(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::attention_scores_forward<S>(run.context, shape_of(run.sizes), run.in[0], run.in[1],
                                     run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::attention_scores_adjoint<S>(run.context, shape_of(run.sizes), run.in[0], run.in[1],
                                     run.d_out[0], run.d_in[0], run.d_in[1]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    plain_scores(p.sizes, p.in[0], p.in[1], p.out[0]);
  }
};

struct CausalSoftmax : Row {
  static constexpr Moves kForwardMoves = Moves::kAtLeast;  // whole rows
  static constexpr Moves kAdjointMoves = Moves::kAtLeast;
  static constexpr const char* kName = "causal_softmax";
  static constexpr double kFloatTolerance = 2e-6;
  static constexpr const char* kFloatReason = kReason;
  static Slots inputs(const Sizes& s) { return {scores("s", s)}; }
  static Slots outputs(const Sizes& s) { return {scores("p", s)}; }
  // Half of the scores are used; all are written.
  static Cost forward_cost(const Sizes& s) { return {2.5 * score_count(s), 1.5 * score_count(s)}; }
  static Cost adjoint_cost(const Sizes& s) { return {2 * score_count(s), 2 * score_count(s)}; }
  template <class S>
  static void forward(Run<S>& run) {
    ops::causal_softmax_forward<S>(run.context, shape_of(run.sizes), run.in[0], run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::causal_softmax_adjoint<S>(run.context, shape_of(run.sizes), run.out[0], run.d_out[0],
                                   run.d_in[0]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    plain_softmax(p.sizes, p.in[0], p.out[0]);
  }
};

struct AttentionValues : Row {
  static constexpr const char* kName = "attention_values";
  static constexpr bool kProducts = true;
  static constexpr double kFloatTolerance = 2e-6;
  static constexpr const char* kFloatReason = kReason;
  static Slots inputs(const Sizes& s) { return {scores("p", s), activations("v", s)}; }
  static Slots outputs(const Sizes& s) { return {activations("o", s)}; }
  static Cost forward_cost(const Sizes& s) { return AttentionScores::forward_cost(s); }
  static Cost adjoint_cost(const Sizes& s) { return AttentionScores::adjoint_cost(s); }
  template <class S>
  static void forward(Run<S>& run) {
    ops::attention_values_forward<S>(run.context, shape_of(run.sizes), run.in[0], run.in[1],
                                     run.out[0]);
  }
  template <class S>
  static void adjoint(Run<S>& run) {
    ops::attention_values_adjoint<S>(run.context, shape_of(run.sizes), run.in[0], run.in[1],
                                     run.d_out[0], run.d_in[0], run.d_in[1]);
  }
  template <class N>
  static void plain(Plain<N>& p) {
    plain_values(p.sizes, p.in[0], p.in[1], p.out[0]);
  }
};

}  // namespace

std::vector<Operation> attention_operations() {
  return {row<Attention>(), row<AttentionScores>(), row<CausalSoftmax>(), row<AttentionValues>()};
}

}  // namespace saddle::operations
