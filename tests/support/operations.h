// The operations table: one row per operation, which drives its tests (tests/ops) and its
// micro-benchmarks (bench). A row describes inputs and outputs, how to call the operation over
// every number type, what it computes in plain loops, and what it costs. docs/add_an_operation.md
// explains one row.
#pragma once

#include <complex>
#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "backend/tensor.h"
#include "num/number_types.h"

namespace saddle::operations {

using backend::Context;
using num::Plane;
using tensor::View;

// Dimension letters as in ops/common.h. An operation uses those that it needs.
struct Sizes {
  const char* name = "";
  int64_t workers = 1;     // N
  int64_t sequences = 1;   // B
  int64_t positions = 1;   // T
  int64_t width = 1;       // C
  int64_t heads = 1;       // H
  int64_t head_size = 2;   // h
  int64_t ffn = 1;         // F
  int64_t vocabulary = 2;  // V
  int64_t rows() const { return sequences * positions; }
};

// What the adjoint does with the adjoint of an input.
enum class Gradient { kWritten, kAccumulated };

// A tensor [N, rows, cols] of an operation.
struct Slot {
  const char* name;
  int64_t rows;
  int64_t cols;
  Gradient gradient = Gradient::kWritten;  // for inputs
  double mean = 0;                         // of the random values in tests
  double spread = 1;                       // their standard deviation
};
using Slots = std::vector<Slot>;

// Integers [N, M, 1] that an operation reads in addition to its numbers.
enum class Indices { kNone, kTokens, kTargets };

// The tensors of one call. weights [N, 1, 1] are those of the workers' losses if an adjoint takes
// weights instead of d_out, or the scales of their gradients; commit [1, 1, 1] is 1.
template <class S>
struct Run {
  Context& context;
  Sizes sizes;
  std::vector<View<S>> in, out, saved, d_in, d_out;
  std::vector<View<Plane<S>>> constants;
  View<int32_t> indices;
  View<const double> weights, commit;
  backend::Tensor<int32_t> pieces;  // of AdamW, made by prepare
};

// prepare and prepare_adjoint copy the inputs of in-place operations to where they are changed;
// they are not timed. adjoint is null for number types without one.
template <class S>
struct Calls {
  void (*prepare)(Run<S>&) = nullptr;
  void (*forward)(Run<S>&) = nullptr;
  void (*prepare_adjoint)(Run<S>&) = nullptr;
  void (*adjoint)(Run<S>&) = nullptr;
};

// One worker in plain arrays of double or, for derivatives by the complex step, of complex numbers.
template <class N>
struct Plain {
  Sizes sizes;
  std::vector<int32_t> indices;
  double weight = 1;  // of the worker's losses, or the scale of its gradient
  std::vector<std::vector<N>> in, out;
};

// The cost for one plane and one worker. Elementary functions count as one operation.
struct Cost {
  double operations = 0;
  double moves = 0;  // numbers read or written once
};

// Whether the loops of an operation move exactly what its row says, or also numbers of their own:
// partial sums, the masked half of a triangle, padding.
enum class Moves { kExact, kAtLeast };

struct Operation {
  std::string name;
  Slots (*inputs)(const Sizes&);
  Slots (*outputs)(const Sizes&);
  Slots (*saved)(const Sizes&);
  Slots (*constants)(const Sizes&);  // inputs that are not differentiated
  Indices indices;
  // The adjoint takes weights: d_out is the same for every row of a worker.
  bool weighted;
  // Mostly matrix products: measured in operations per second; dual numbers need 3 products.
  bool products;
  // Relative error of float (of the norm of a tensor) against double, and why it may be so large.
  double float_tolerance;
  const char* float_reason;
  std::vector<Sizes> more_cases;  // in addition to common_cases()
  void (*plain)(Plain<double>&);
  void (*plain_float)(Plain<double>&);  // what it computes over float; mostly the same
  void (*plain_complex)(Plain<std::complex<double>>&);
  Cost (*forward_cost)(const Sizes&);
  Cost (*adjoint_cost)(const Sizes&);
  Moves forward_moves, adjoint_moves;
  std::tuple<Calls<float>, Calls<double>, Calls<num::Dual<float>>, Calls<num::Dual<double>>,
             Calls<num::Jet<float>>, Calls<num::Jet<double>>>
      calls;

  template <class S>
  const Calls<S>& over() const {
    return std::get<Calls<S>>(calls);
  }
  bool has_derivatives() const { return over<num::Dual<double>>().forward != nullptr; }
  friend void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }
  bool has_adjoint() const { return over<double>().adjoint != nullptr; }
};

// All rows.
std::vector<Operation> all_operations();

// Rows by subject.
std::vector<Operation> row_operations();         // rmsnorm, swiglu, rope, ...
std::vector<Operation> attention_operations();   // fused, and in its steps
std::vector<Operation> vocabulary_operations();  // linear, cross-entropy, head, embedding
std::vector<Operation> whole_operations();       // adamw, sum: whole tensors
std::vector<Operation> example_operations();     // of docs/add_an_operation.md

// Shapes with which every operation is tested: single elements, odd numbers, several workers, more
// positions than attention processes at a time.
std::vector<Sizes> common_cases();

}  // namespace saddle::operations
