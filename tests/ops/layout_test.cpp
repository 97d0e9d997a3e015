// What every operation promises about memory, for those that are not in the operations table:
// second-order sweeps, attention over a cache, mixing, orthogonalization and sums. They are called
// on contiguous tensors, on parts of larger ones, with outputs over inputs where that is allowed,
// again, and on other numbers of threads: always the same bits; NaN in any input arrives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "ops/attention_second_order.h"
#include "ops/cached_attention.h"
#include "ops/linear.h"
#include "ops/mixing.h"
#include "ops/orthogonalize.h"
#include "ops/output_head_second_order.h"
#include "ops/reduce.h"
#include "ops/rmsnorm.h"
#include "ops/swiglu.h"
#include "ops/tensors.h"
#include "support/per_worker.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

enum class Role { kInput, kOutput, kChanged };

struct Part {
  int64_t workers, rows, cols;
  Role role = Role::kInput;
  int may_be = -1;  // an output that may be this input
};

template <class T>
struct Operands {
  std::vector<View<T>> tensors;
  View<double> results;         // [results, 1, 1], accumulated or written
  View<const int32_t> targets;  // [1, rows of the first tensor, 1]
  View<T> operator[](size_t i) const { return tensors[i]; }
};

template <class T>
struct Call {
  std::string name;
  std::vector<Part> parts;
  int64_t results;  // numbers of double; 0: none
  std::function<void(Context&, const Operands<T>&)> run;
  bool products = false;
};

constexpr int64_t kG = 3;  // directions, workers
constexpr Role kOut = Role::kOutput;

template <class T>
std::vector<Call<T>> second_order_calls() {
  constexpr AttentionShape kShape{.sequences = 2, .positions = 140, .heads = 2, .head_size = 4};
  return {
      {"linear_second_order",
       {{1, 37, 24}, {1, 19, 24}, {1, 37, 19}, {kG, 37, 24}, {kG, 19, 24}, {kG, 37, 19, kOut}},
       kG,
       [](Context& c, const Operands<T>& o) {
         linear_second_order<T>(c, o[0], o[1], o[2], o[3], o[4], o[5], o.results);
       },
       true},
      {"rmsnorm_second_order",
       {{1, 37, 70}, {1, 1, 70}, {1, 37, 70}, {kG, 37, 70}, {kG, 1, 70}, {kG, 37, 70, kOut, 3}},
       kG,
       [](Context& c, const Operands<T>& o) {
         rmsnorm_second_order<T>(c, o[0], o[1], 0.1, o[2], o[3], o[4], o[5], o.results);
       }},
      {"swiglu_second_order",
       {{1, 37, 43}, {1, 37, 43}, {1, 37, 43}, {kG, 37, 43}, {kG, 37, 43}, {kG, 37, 43, kOut, 3}},
       kG,
       [](Context& c, const Operands<T>& o) {
         swiglu_second_order<T>(c, o[0], o[1], o[2], o[3], o[4], o[5], o.results);
       }},
      {"swiglu_second_order, over up_t",
       {{1, 37, 43}, {1, 37, 43}, {1, 37, 43}, {kG, 37, 43}, {kG, 37, 43}, {kG, 37, 43, kOut, 4}},
       kG,
       [](Context& c, const Operands<T>& o) {
         swiglu_second_order<T>(c, o[0], o[1], o[2], o[3], o[4], o[5], o.results);
       }},
      {"attention_second_order",
       {{1, 280, 8},
        {1, 280, 8},
        {1, 280, 8},
        {1, 280, 8},
        {kG, 280, 8},
        {kG, 280, 8},
        {kG, 280, 8},
        {kG, 280, 8, kOut, 4}},
       kG,
       [kShape](Context& c, const Operands<T>& o) {
         attention_second_order<T>(c, kShape, o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7],
                                   o.results);
       },
       true},
      {"output_head_second_order",
       {{1, 37, 16}, {1, 61, 16}, {kG, 37, 16}, {kG, 61, 16}},
       kG,
       [](Context& c, const Operands<T>& o) {
         output_head_second_order<T>(c, o[0], o[1], o.targets, 0.5, o[2], o[3], o.results);
       },
       true},
  };
}

template <class T>
std::vector<Call<T>> other_calls() {
  static const std::vector<double> matrix = {0.5, 0.25, 0.25, 0.25, 0.5, 0.25, 0.25, 0.25, 0.5};
  return {
      {"cached_attention",
       {{kG, 5, 16}, {kG, 21, 16}, {kG, 21, 16}, {kG, 5, 16, kOut}},
       0,
       [](Context& c, const Operands<T>& o) {
         cached_attention_forward<T>(c, 2, o[0], o[1], o[2], o[3]);
       },
       true},
      {"mix",
       {{kG, 1, 1300, Role::kChanged}},
       0,
       [](Context& c, const Operands<T>& o) { mix<T>(c, matrix, o[0]); }},
      {"worker_mean",
       {{kG, 1, 1300}, {1, 1, 1300, kOut}},
       0,
       [](Context& c, const Operands<T>& o) { worker_mean<T>(c, o[0], o[1]); }},
      {"consensus_distance",
       {{kG, 1, 1300}},
       1,
       [](Context& c, const Operands<T>& o) { consensus_distance<T>(c, o[0], o.results); }},
      {"orthogonalize",
       {{4, 1, 1300}, {1, 1, 1300, Role::kChanged}},
       0,
       [](Context& c, const Operands<T>& o) { orthogonalize<T>(c, o[0], o[1]); }},
      {"dot",
       {{kG, 7, 700}, {kG, 7, 700}},
       kG,
       [](Context& c, const Operands<T>& o) { dot<T>(c, o[0], o[1], o.results); }},
      {"add_dot",
       {{kG, 7, 700}, {kG, 7, 700}},
       kG,
       [](Context& c, const Operands<T>& o) { add_dot<T>(c, o[0], o[1], o.results, 2); }},
      {"sum",
       {{kG, 7, 700}},
       kG,
       [](Context& c, const Operands<T>& o) { add_sum<T>(c, o[0], o.results); }},
      {"sum_of_squares",
       {{kG, 7, 700}},
       kG,
       [](Context& c, const Operands<T>& o) { sum_of_squares<T>(c, o[0], o.results); }},
  };
}

struct Layout {
  bool apart = false;   // every tensor is a part of a larger one, between NaN
  bool shared = false;  // outputs are over inputs where they may be
  int nan_in = -1;      // this input holds a NaN
};

// Every number of outputs and results after a call, whose inputs depend only on the call.
template <class T>
std::vector<double> outputs_of(Context& context, const Call<T>& call, Layout layout = {}) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const int64_t margin = layout.apart ? 3 : 0;
  std::vector<Tensor<T>> memory;
  Operands<T> operands;
  for (size_t i = 0; i < call.parts.size(); ++i) {
    const Part& part = call.parts[i];
    if (layout.shared && part.may_be >= 0) {
      operands.tensors.push_back(operands.tensors[static_cast<size_t>(part.may_be)]);
      continue;
    }
    const View<T> all =
        memory.emplace_back(context, part.workers, part.rows + margin, part.cols + 2 * margin);
    set_values<T>(context, all, std::vector<T>(all.size(), static_cast<T>(kNan)));
    const View<T> view = all.row_range(0, part.rows).column_range(margin, part.cols);
    if (part.role != Role::kOutput) randomize<T>(context, view, i, 0.5);
    if (layout.nan_in == static_cast<int>(i)) {
      set_number<T>(context, view, part.workers - 1, part.rows / 2, part.cols / 2,
                    static_cast<T>(kNan));
    }
    operands.tensors.push_back(view);
  }
  const Tensor<double> results =
      per_worker(context, std::vector<double>(std::max<int64_t>(1, call.results), 0.25));
  operands.results = results;
  const int64_t rows = call.parts[0].rows;
  const Tensor<int32_t> targets(context, 1, rows, 1);
  std::vector<int32_t> tokens(static_cast<size_t>(rows));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 % 61);
  set_values<int32_t>(context, targets, tokens);
  operands.targets = targets;

  call.run(context, operands);
  std::vector<double> found;
  for (size_t i = 0; i < call.parts.size(); ++i) {
    if (call.parts[i].role == Role::kInput) continue;
    const auto numbers = numbers_of<T>(context, operands[i]);
    found.insert(found.end(), numbers.begin(), numbers.end());
  }
  if (call.results > 0) {
    const auto numbers = backend::to_host<double>(context, results);
    found.insert(found.end(), numbers.begin(), numbers.end());
  }
  // Nothing around the parts was written.
  for (const Tensor<T>& tensor : memory) {
    if (!layout.apart) break;
    const View<T> all = tensor;
    for (const View<T>& around :
         {all.column_range(0, margin), all.column_range(all.cols() - margin, margin),
          all.row_range(all.rows() - margin, margin)}) {
      for (const T x : numbers_of<T>(context, around)) {
        if (!std::isnan(x)) found.push_back(x);  // makes the results unequal
      }
    }
  }
  return found;
}

bool holds_nan(const std::vector<double>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](double x) { return std::isnan(x); });
}

template <class T>
class LayoutTest : public testing::Test {
 protected:
  LayoutTest() {
    for (const auto& list : {second_order_calls<T>(), other_calls<T>()}) {
      calls_.insert(calls_.end(), list.begin(), list.end());
    }
  }
  Context context_ = test_context(1);
  std::vector<Call<T>> calls_;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LayoutTest, Reals);

// Products over rows with another stride may add up in another order.
TYPED_TEST(LayoutTest, PartsOfLargerTensorsGiveTheSame) {
  const double tolerance = std::is_same_v<TypeParam, float> ? 2e-5 : 1e-13;
  for (const auto& call : this->calls_) {
    const std::vector<double> expected = outputs_of(this->context_, call);
    const std::vector<double> found = outputs_of(this->context_, call, {.apart = true});
    ASSERT_FALSE(holds_nan(expected)) << call.name;
    ASSERT_EQ(found.size(), expected.size()) << call.name;
    double largest = 0;
    for (const double x : expected) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], tolerance * largest) << call.name << ", number " << i;
    }
  }
}

TYPED_TEST(LayoutTest, OutputsMayBeInputsWhereTheHeaderSaysSo) {
  int shared = 0;
  for (const auto& call : this->calls_) {
    for (const Part& part : call.parts) shared += part.may_be >= 0 ? 1 : 0;
    EXPECT_EQ(outputs_of(this->context_, call, {.shared = true}), outputs_of(this->context_, call))
        << call.name;
  }
  EXPECT_EQ(shared, 4);
}

TYPED_TEST(LayoutTest, TheSameBitsAgainAndWithOtherThreadsAndOrders) {
  Context two = test_context(2), three = test_context(3);
  for (const auto& call : this->calls_) {
    const std::vector<double> expected = outputs_of(this->context_, call);
    in_every_order(
        [&] { EXPECT_EQ(outputs_of(this->context_, call), expected) << call.name << " again"; });
    // On some processors oneDNN divides the inner dimension of a float product among threads.
    if (!tests_the_processor() || (call.products && sizeof(TypeParam) == 4)) continue;
    for (Context* context : {&two, &three}) {
      EXPECT_EQ(outputs_of(*context, call), expected)
          << call.name << " on " << context->threads() << " threads";
    }
  }
}

// One row, column or worker too few of any tensor. Some dimensions are those of one tensor alone.
TYPED_TEST(LayoutTest, ShapesThatDoNotFitAreRefused) {
  const std::set<std::string> any = {"mix 0 column",
                                     "worker_mean 0 worker",
                                     "consensus_distance 0 worker",
                                     "consensus_distance 0 column",
                                     "orthogonalize 0 worker",
                                     "sum 0 row",
                                     "sum 0 column",
                                     "sum_of_squares 0 row",
                                     "sum_of_squares 0 column"};
  for (const auto& call : this->calls_) {
    for (size_t i = 0; i < call.parts.size(); ++i) {
      const auto expect_refused = [&](int64_t Part::*dimension, const char* name) {
        auto other = call;
        if (--(other.parts[i].*dimension) == 0) return;
        if (any.contains(call.name + " " + std::to_string(i) + " " + name)) return;
        EXPECT_THROW(outputs_of(this->context_, other), Error)
            << call.name << " " << i << " " << name;
      };
      expect_refused(&Part::workers, "worker");
      expect_refused(&Part::rows, "row");
      expect_refused(&Part::cols, "column");
    }
  }
}

TYPED_TEST(LayoutTest, NanInAnyInputArrives) {
  for (const auto& call : this->calls_) {
    for (size_t i = 0; i < call.parts.size(); ++i) {
      if (call.parts[i].role == Role::kOutput) continue;
      EXPECT_TRUE(holds_nan(outputs_of(this->context_, call, {.nan_in = static_cast<int>(i)})))
          << call.name << ", tensor " << i;
    }
  }
}

}  // namespace
}  // namespace saddle::ops
