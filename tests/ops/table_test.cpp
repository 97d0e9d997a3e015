// Properties of every row of the operations table, in every shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <ostream>
#include <set>
#include <string>

#include "base/error.h"
#include "support/difference.h"
#include "support/operations_trial.h"
#include "support/test_context.h"

namespace saddle::operations {
namespace {

using num::Dual;
using num::Jet;

// Sums of at most a few thousand terms in double: a few thousand roundings of 1.1e-16 with random
// sign, of terms that may cancel to a tenth of their size.
constexpr double kDoubleTolerance = 1e-13;

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

double dot(const Values& x, const Values& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < x[i].size(); ++j) sum += x[i][j] * y[i][j];
  }
  return sum;
}

// The size of the terms of a dot product; its error is relative to this.
double dot_scale(const Values& x, const Values& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += norm(x[i]) * norm(y[i]);
  return sum;
}

Values zeros_like(const Values& x) {
  Values zeros = x;
  for (auto& tensor : zeros) std::fill(tensor.begin(), tensor.end(), 0.0);
  return zeros;
}

bool holds_nan(const Values& x) {
  return std::any_of(x.begin(), x.end(), [](const auto& tensor) {
    return std::any_of(tensor.begin(), tensor.end(), [](double v) { return std::isnan(v); });
  });
}

// Each tensor within `tolerance` of the norm of the expected one.
void expect_close(const Values& found, const Values& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size());
    std::vector<double> difference = found[i];
    for (size_t j = 0; j < difference.size(); ++j) difference[j] -= expected[i][j];
    EXPECT_LE(norm(difference), tolerance * norm(expected[i])) << what << ", tensor " << i;
  }
}

// The operations that `fits` accepts.
template <class Fits>
std::vector<Operation> operations_where(Fits fits) {
  std::vector<Operation> chosen;
  for (const Operation& operation : all_operations()) {
    if (fits(operation)) chosen.push_back(operation);
  }
  return chosen;
}

class OperationTest : public ::testing::TestWithParam<Operation> {
 protected:
  const Operation& op_ = GetParam();
  Sizes sizes_;
  Context context_ = test_context(1);

  // check() in every shape of the operation.
  template <class Check>
  void for_shapes(Check check) {
    std::vector<Sizes> shapes = common_cases();
    shapes.insert(shapes.end(), op_.more_cases.begin(), op_.more_cases.end());
    for (const Sizes& sizes : shapes) {
      SCOPED_TRACE(sizes.name);
      sizes_ = sizes;
      check();
    }
  }

  Values inputs() const { return draw(op_.inputs(sizes_), sizes_.workers, 0, 1); }
  Values direction(uint64_t seed) const {
    return draw(op_.inputs(sizes_), sizes_.workers, 0, seed, true);
  }
  Values adjoints() const {
    if (op_.weighted) return weights_as_adjoints(draw_weights(sizes_, 0), sizes_.rows());
    return draw(op_.outputs(sizes_), sizes_.workers, 0, 4, true);
  }

  // The inputs with each tensor in turn set to zero, and with all of them zero.
  std::vector<Values> points_with_zeros() const {
    std::vector<Values> points = {zeros_like(inputs())};
    for (size_t slot = 0; slot < inputs().size(); ++slot) {
      points.push_back(inputs());
      std::fill(points.back()[slot].begin(), points.back()[slot].end(), 0.0);
    }
    return points;
  }

  // Outputs and gradients at `values`, with all planes after the first set to zero.
  template <class S>
  Trial<S> run(const Values& values, TrialOptions options = {}) {
    return run_along<S>(values, zeros_like(values), options);
  }

  // The same with a first derivative (the second plane) along `tangent`.
  template <class S>
  Trial<S> run_along(const Values& values, const Values& tangent, TrialOptions options = {},
                     Context* context = nullptr) {
    Trial<S> trial(context != nullptr ? *context : context_, op_, sizes_, options);
    trial.set_inputs(0, values);
    if constexpr (num::kPlanes < S >> 1) trial.set_inputs(1, tangent);
    for (int p = 2; p < num::kPlanes<S>; ++p) trial.set_inputs(p, zeros_like(values));
    trial.forward();
    if (op_.over<S>().adjoint != nullptr) {
      trial.set_adjoints(0, adjoints());
      trial.adjoint();
    }
    return trial;
  }

  // The Hessian of sum d_out out times a vector: the tangent of the gradient, d_out fixed.
  Values hessian_times(const Values& vector) { return hessian_times(inputs(), vector); }
  Values hessian_times(const Values& point, const Values& vector) {
    return run_along<Dual<double>>(point, vector).gradients(1);
  }

  // Derivatives of the plain loops by the complex step (Squire and Trapp, SIAM Review 40(1), 1998).
  Values complex_step(const Values& values, const Values& tangent) const {
    constexpr double kStep = 1e-100;
    std::vector<std::vector<std::complex<double>>> in;
    for (size_t i = 0; i < values.size(); ++i) {
      in.emplace_back();
      for (size_t j = 0; j < values[i].size(); ++j) {
        in[i].emplace_back(values[i][j], kStep * tangent[i][j]);
      }
    }
    Values derivative;
    for (const auto& tensor : plain_outputs(op_, sizes_, in)) {
      derivative.emplace_back();
      for (const auto& x : tensor) derivative.back().push_back(x.imag() / kStep);
    }
    return derivative;
  }
};

class LoopTest : public OperationTest {};           // operations without products
class DerivativeTest : public OperationTest {};     // forwards that are differentiated
class AdjointTest : public OperationTest {};        // operations with an adjoint
class OutputAdjointTest : public OperationTest {};  // adjoints that take d_out, not weights

TEST_P(OperationTest, ValuesMatchPlainLoops) {
  for_shapes([&] {
    const Values expected = plain_outputs(op_, sizes_, inputs());
    const Values in_float = plain_outputs(op_, sizes_, inputs(), 0, true);
    expect_close(run<double>(inputs()).outputs(0), expected, kDoubleTolerance, "double");
    expect_close(run<float>(inputs()).outputs(0), in_float, op_.float_tolerance, op_.float_reason);
    if (!op_.has_derivatives()) return;
    expect_close(run<Dual<float>>(inputs()).outputs(0), in_float, op_.float_tolerance,
                 op_.float_reason);
    expect_close(run<Jet<float>>(inputs()).outputs(0), in_float, op_.float_tolerance,
                 op_.float_reason);
    expect_close(run<Dual<double>>(inputs()).outputs(0), expected, kDoubleTolerance, "dual");
    expect_close(run<Jet<double>>(inputs()).outputs(0), expected, kDoubleTolerance, "jet");
  });
}

TEST_P(DerivativeTest, TangentsMatchTheComplexStep) {
  for_shapes([&] {
    const Values tangent = direction(2);
    const Values expected = complex_step(inputs(), tangent);
    expect_close(run_along<Dual<double>>(inputs(), tangent).outputs(1), expected, kDoubleTolerance,
                 "dual");
    expect_close(run_along<Jet<double>>(inputs(), tangent).outputs(1), expected, kDoubleTolerance,
                 "jet");
    expect_close(run_along<Dual<float>>(inputs(), tangent).outputs(1), expected,
                 op_.float_tolerance, op_.float_reason);
    expect_close(run_along<Jet<float>>(inputs(), tangent).outputs(1), expected, op_.float_tolerance,
                 op_.float_reason);
  });
}

// Where values are zero the derivatives are not: nothing may be skipped only because its value is
// zero.
TEST_P(DerivativeTest, TangentsAtZeroMatchTheComplexStep) {
  for_shapes([&] {
    const Values tangent = direction(2);
    for (const Values& point : points_with_zeros()) {
      expect_close(run_along<Dual<double>>(point, tangent).outputs(1), complex_step(point, tangent),
                   kDoubleTolerance, "dual");
    }
  });
}

TEST_P(AdjointTest, AdjointIsTheTransposeOfTheDerivative) {
  for_shapes([&] {
    const Values tangent = direction(2);
    const Values forward = run_along<Dual<double>>(inputs(), tangent).outputs(1);
    const Values gradient = run<double>(inputs()).gradients(0);
    EXPECT_NEAR(dot(adjoints(), forward), dot(gradient, tangent),
                kDoubleTolerance * dot_scale(gradient, tangent));
  });
}

TEST_P(AdjointTest, AdjointsAgreeOverAllNumberTypes) {
  for_shapes([&] {
    const Values expected = run<double>(inputs()).gradients(0);
    expect_close(run<Dual<double>>(inputs()).gradients(0), expected, kDoubleTolerance, "dual");
    expect_close(run<float>(inputs()).gradients(0), expected, op_.float_tolerance,
                 op_.float_reason);
    expect_close(run<Dual<float>>(inputs()).gradients(0), expected, op_.float_tolerance,
                 op_.float_reason);
  });
}

TEST_P(OutputAdjointTest, AdjointIsLinearInTangentsWhoseValueIsZero) {
  for_shapes([&] {
    Trial<Dual<double>> trial(context_, op_, sizes_);
    trial.set_inputs(0, inputs());
    trial.forward();
    trial.set_adjoints(1, adjoints());
    trial.adjoint();
    expect_close(trial.gradients(1), run<double>(inputs()).gradients(0), kDoubleTolerance, "dual");
  });
}

TEST_P(AdjointTest, HessianIsSymmetric) {
  for_shapes([&] {
    const Values u = direction(2);
    const Values v = direction(3);
    const Values Hu = hessian_times(u);
    const Values Hv = hessian_times(v);
    EXPECT_NEAR(dot(u, Hv), dot(v, Hu), kDoubleTolerance * (dot_scale(u, Hv) + dot_scale(v, Hu)));
  });
}

// v'Hv from the adjoint over dual numbers, and from the forward alone over jets.
TEST_P(AdjointTest, SecondDerivativeMatchesTheHessian) {
  for_shapes([&] {
    std::vector<Values> points = points_with_zeros();
    points.push_back(inputs());
    for (const Values& point : points) {
      const Values v = direction(2);
      const Values Hv = hessian_times(point, v);
      const Trial<Jet<double>> jets = run_along<Jet<double>>(point, v);
      const Values second = jets.outputs(2);
      // Where the Hessian is zero, its terms, as large as the outputs, cancel up to rounding.
      const double scale = dot_scale(adjoints(), jets.outputs(0));
      EXPECT_NEAR(dot(adjoints(), second), dot(v, Hv),
                  kDoubleTolerance * (dot_scale(v, Hv) + dot_scale(adjoints(), second) + scale));
    }
  });
}

TEST_P(AdjointTest, HessianInFloatMatchesDouble) {
  for_shapes([&] {
    const Values v = direction(2);
    // Relative to the gradient if the Hessian is smaller: both consist of the same terms.
    const Values expected = hessian_times(v);
    const Values found = run_along<Dual<float>>(inputs(), v).gradients(1);
    const Values gradient = run<double>(inputs()).gradients(0);
    for (size_t i = 0; i < found.size(); ++i) {
      std::vector<double> difference = found[i];
      for (size_t j = 0; j < difference.size(); ++j) difference[j] -= expected[i][j];
      EXPECT_LE(norm(difference), 4 * op_.float_tolerance * (norm(expected[i]) + norm(gradient[i])))
          << op_.float_reason << ", tensor " << i;
    }
  });
}

// Each worker of a run with several equals a run with that worker alone, to the last bit: on one
// thread the order of every sum is the same.
TEST_P(OperationTest, WorkersAreIndependent) {
  for_shapes([&] {
    const auto expect_same = [&]<class S>(S) {
      if (op_.over<S>().forward == nullptr) return;
      const Trial<S> together = run_along<S>(inputs(), direction(2));
      Sizes alone = sizes_;
      alone.workers = 1;
      for (int64_t n = 0; n < sizes_.workers; ++n) {
        const auto part = [&](const Values& x) { return worker_part(x, sizes_.workers, n); };
        Trial<S> trial(context_, op_, alone, {.first_worker = n});
        trial.set_inputs(0, part(inputs()));
        if constexpr (num::kPlanes < S >> 1) trial.set_inputs(1, part(direction(2)));
        trial.forward();
        if (op_.over<S>().adjoint != nullptr) {
          trial.set_adjoints(0, part(adjoints()));
          trial.adjoint();
        }
        for (int p = 0; p < num::kPlanes<S>; ++p) {
          EXPECT_EQ(trial.outputs(p), part(together.outputs(p)))
              << "worker " << n << " plane " << p;
          EXPECT_EQ(trial.gradients(p), part(together.gradients(p))) << "worker " << n;
        }
      }
    };
    expect_same(float{});
    expect_same(double{});
    expect_same(Dual<float>{});
    expect_same(Jet<float>{});
  });
}

TEST_P(OperationTest, PartsOfLargerTensorsGiveTheSame) {
  for_shapes([&] {
    const TrialOptions strided{.strided = true};
    const Trial<double> apart = run<double>(inputs(), strided);
    const Trial<double> contiguous = run<double>(inputs());
    expect_close(apart.outputs(0), contiguous.outputs(0), kDoubleTolerance, "outputs");
    expect_close(apart.gradients(0), contiguous.gradients(0), kDoubleTolerance, "gradients");
    EXPECT_TRUE(apart.margins_untouched());
    if (!op_.has_derivatives()) return;
    const Trial<Jet<double>> jets = run_along<Jet<double>>(inputs(), direction(2), strided);
    expect_close(jets.outputs(2), run_along<Jet<double>>(inputs(), direction(2)).outputs(2),
                 kDoubleTolerance, "second derivatives");
    EXPECT_TRUE(jets.margins_untouched());
  });
}

// A trial begins with NaN in the written tensors: none may remain, and accumulated gradients must
// include their old contents.
TEST_P(OperationTest, WritesAndAccumulatesAsDeclared) {
  for_shapes([&] {
    EXPECT_FALSE(holds_nan(run<double>(inputs()).outputs(0)));
    if (!op_.has_adjoint()) return;
    constexpr double kOld = 3;
    const Values from_zero = run<Dual<double>>(inputs()).gradients(0);
    Trial<Dual<double>> trial = run<Dual<double>>(inputs(), {.accumulated = kOld});
    const Slots slots = op_.inputs(sizes_);
    for (int plane = 0; plane < 2; ++plane) {
      const Values found = trial.gradients(plane);
      for (size_t i = 0; i < slots.size(); ++i) {
        const double old = slots[i].gradient == Gradient::kAccumulated ? kOld : 0;
        double largest = 0;
        for (size_t j = 0; j < found[i].size(); ++j) {
          const double added = plane == 0 ? from_zero[i][j] : 0;
          largest = std::max(largest, or_infinity(std::abs(found[i][j] - old - added)));
        }
        // One more rounding of numbers of this size.
        EXPECT_LE(largest, 1e-13 * (old + norm(from_zero[i]))) << slots[i].name;
      }
    }
  });
}

// The loops of an operation declare what they read and write, which is how its bytes are counted;
// the table says it independently. Over two planes it is twice as much.
TEST_P(LoopTest, LoopsDeclareTheBytesOfTheTable) {
  for_shapes([&] {
    const auto expect_declared = [&]<class S>(S) {
      const Calls<S>& calls = op_.over<S>();
      if (calls.forward == nullptr) return;
      Trial<S> trial(context_, op_, sizes_);
      trial.set_inputs(0, inputs());
      const auto bytes = [&](auto&& call) {
        const int64_t before = context_.counters().kernel_bytes;
        call(trial.run());
        return static_cast<double>(context_.counters().kernel_bytes - before);
      };
      const auto expect = [&](const char* what, double found, const Cost& cost, Moves moves) {
        const auto number = static_cast<double>(num::kPlanes<S> * sizeof(Plane<S>));
        const double declared = static_cast<double>(sizes_.workers) * cost.moves * number;
        EXPECT_GE(found, declared) << what;
        if (moves == Moves::kExact) {
          EXPECT_EQ(found, declared) << what;
        }
      };
      calls.prepare(trial.run());
      expect("forward", bytes(calls.forward), op_.forward_cost(sizes_), op_.forward_moves);
      if (calls.adjoint == nullptr) return;
      trial.set_adjoints(0, adjoints());
      calls.prepare_adjoint(trial.run());
      expect("adjoint", bytes(calls.adjoint), op_.adjoint_cost(sizes_), op_.adjoint_moves);
    };
    expect_declared(float{});
    expect_declared(double{});
    expect_declared(Dual<float>{});
  });
}

// What an operation takes in any shape: inputs that its adjoint does not read (or that are copied
// into place before the call), the length of a vocabulary, and the only tensor of a call.
bool may_have_any_shape(const std::string& operation, const std::string& tensor,
                        const std::string& dimension) {
  static const std::set<std::string> tensors = {"add adjoint in 0",
                                                "add adjoint in 1",
                                                "residual_rmsnorm adjoint in 0",
                                                "residual_rmsnorm adjoint in 1",
                                                "round_bf16 adjoint in 0",
                                                "causal_softmax adjoint in 0",
                                                "embedding adjoint in 0",
                                                "rope forward in 0",
                                                "rope adjoint in 0",
                                                "rope adjoint d_out 0",
                                                "adamw forward in 0",
                                                "adamw forward in 1",
                                                "adamw forward in 2",
                                                "sum forward in 0",
                                                "sum forward out 0"};
  static const std::set<std::string> dimensions = {
      "embedding forward in 0 row",   "embedding adjoint d_in 0 row",
      "output_head forward in 1 row", "cross_entropy forward in 0 column",
      "rope forward out 0 worker",    "rope adjoint d_in 0 worker"};
  const std::string name = operation + " " + tensor;
  return tensors.contains(name) || dimensions.contains(name + " " + dimension);
}

// One row, column or worker too few of any tensor.
TEST_P(OperationTest, RefusesEveryShapeThatDoesNotFit) {
  using Arguments = operations::Run<double>;
  using List = std::vector<View<double>> Arguments::*;
  const Calls<double>& calls = op_.over<double>();
  for_shapes([&] {
    if (sizes_.workers == 1) return;
    Trial<double> trial(context_, op_, sizes_);
    trial.set_inputs(0, inputs());
    trial.forward();
    Arguments& run = trial.run();
    const auto expect_refused = [&](auto call, const std::string& list_name, List list) {
      for (size_t i = 0; i < (run.*list).size(); ++i) {
        const std::string tensor = list_name + " " + std::to_string(i);
        const View<double> whole = (run.*list)[i];
        const auto expect_error = [&](View<double> part, const char* dimension) {
          if (may_have_any_shape(op_.name, tensor, dimension)) return;
          (run.*list)[i] = part;
          EXPECT_THROW(call(run), saddle::Error) << tensor << ": one " << dimension << " less";
          (run.*list)[i] = whole;
        };
        expect_error(whole.worker_range(0, whole.workers() - 1), "worker");
        if (whole.rows() > 1) expect_error(whole.row_range(0, whole.rows() - 1), "row");
        if (whole.cols() > 1) expect_error(whole.column_range(0, whole.cols() - 1), "column");
      }
    };
    expect_refused(calls.forward, "forward in", &Arguments::in);
    expect_refused(calls.forward, "forward out", &Arguments::out);
    expect_refused(calls.forward, "forward saved", &Arguments::saved);
    if (calls.adjoint == nullptr) return;
    expect_refused(calls.adjoint, "adjoint in", &Arguments::in);
    expect_refused(calls.adjoint, "adjoint saved", &Arguments::saved);
    expect_refused(calls.adjoint, "adjoint d_in", &Arguments::d_in);
    if (!op_.weighted) expect_refused(calls.adjoint, "adjoint d_out", &Arguments::d_out);
  });
}

// The order of every sum is fixed, also when threads or lanes share it.
TEST_P(OperationTest, GivesTheSameBitsAgainAndWithOtherThreadsAndOrders) {
  Context two = test_context(2), three = test_context(3);
  for_shapes([&] {
    const auto expect_same = [&]<class S>(S) {
      if (op_.over<S>().forward == nullptr) return;
      const Trial<S> expected = run_along<S>(inputs(), direction(2));
      const auto expect_same_on = [&](Context& context) {
        const Trial<S> found = run_along<S>(inputs(), direction(2), {}, &context);
        for (int p = 0; p < num::kPlanes<S>; ++p) {
          EXPECT_EQ(found.outputs(p), expected.outputs(p)) << context.threads() << " threads";
          EXPECT_EQ(found.gradients(p), expected.gradients(p)) << context.threads() << " threads";
        }
      };
      in_every_order([&] { expect_same_on(context_); });
      // On some processors oneDNN divides the inner dimension of a float product among threads.
      if (!tests_the_processor() || (op_.products && sizeof(Plane<S>) == 4)) return;
      expect_same_on(two);
      expect_same_on(three);
    };
    expect_same(float{});
    expect_same(double{});
    expect_same(Dual<float>{});
    expect_same(Jet<double>{});
  });
}

TEST_P(OperationTest, NanReachesTheOutputs) {
  for_shapes([&] {
    for (size_t slot = 0; slot < inputs().size(); ++slot) {
      for (const bool last : {false, true}) {
        // A single row reads only one piece, the first.
        if (last && op_.indices == Indices::kTokens && sizes_.rows() == 1) continue;
        Values planted = inputs();
        std::vector<double>& tensor = planted[slot];
        tensor[last ? tensor.size() - 1 : 0] = std::numeric_limits<double>::quiet_NaN();
        EXPECT_TRUE(holds_nan(run<float>(planted).outputs(0))) << "input " << slot << last;
        EXPECT_TRUE(holds_nan(run<double>(planted).outputs(0))) << "input " << slot << last;
      }
    }
  });
}

TEST_P(OutputAdjointTest, NanReachesTheGradients) {
  for_shapes([&] {
    for (size_t slot = 0; slot < adjoints().size(); ++slot) {
      Values planted = adjoints();
      planted[slot][0] = std::numeric_limits<double>::quiet_NaN();
      Trial<float> trial(context_, op_, sizes_, {.garbage = 0});
      trial.set_inputs(0, inputs());
      trial.forward();
      trial.set_adjoints(0, planted);
      trial.adjoint();
      EXPECT_TRUE(holds_nan(trial.gradients(0))) << "output " << slot;
    }
  });
}

TEST_P(DerivativeTest, NanInATangentReachesOnlyTheTangents) {
  for_shapes([&] {
    for (size_t slot = 0; slot < inputs().size(); ++slot) {
      Values planted = direction(2);
      planted[slot].front() = std::numeric_limits<double>::quiet_NaN();
      const Trial<Dual<float>> trial = run_along<Dual<float>>(inputs(), planted, {.garbage = 0});
      EXPECT_TRUE(holds_nan(trial.outputs(1))) << "input " << slot;
      EXPECT_FALSE(holds_nan(trial.outputs(0))) << "input " << slot;
    }
  });
}

std::string name_of(const ::testing::TestParamInfo<Operation>& row) {
  return row.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Table, OperationTest,
    ::testing::ValuesIn(operations_where([](const Operation&) { return true; })), name_of);
INSTANTIATE_TEST_SUITE_P(Table, LoopTest,
                         ::testing::ValuesIn(operations_where([](const Operation& op) {
                           return !op.products;
                         })),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Table, DerivativeTest,
                         ::testing::ValuesIn(operations_where([](const Operation& op) {
                           return op.has_derivatives();
                         })),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Table, AdjointTest,
                         ::testing::ValuesIn(operations_where([](const Operation& op) {
                           return op.has_adjoint();
                         })),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Table, OutputAdjointTest,
                         ::testing::ValuesIn(operations_where([](const Operation& op) {
                           return op.has_adjoint() && !op.weighted;
                         })),
                         name_of);

}  // namespace
}  // namespace saddle::operations
