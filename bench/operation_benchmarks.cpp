// Times every operation of the operations table over float and dual numbers, with the shapes of the
// 20m preset and microbatches of 4 sequences of 1,024 tokens. Each row first compares the results
// of a smaller microbatch with plain loops, then times; --benchmark_repetitions=N gives median and
// spread.
//
// Columns: for matrix products GFLOP/s and its percentage of the best rate of one large product,
// which is measured again before each row; for the others GB/s (all planes), its percentage of the
// best rate of a copy in memory (more than 100 if the tensors stay in the cache), and ns per number
// of the largest tensor. Rows over Dual<float> reveal a loop that is no longer vectorized: they
// should take 2 to 3 times as long as those over float, not 10.
//
// --threads=N gives the operations N threads (default: all processors).
#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/error.h"
#include "bench/product_peak.h"
#include "ops/elementwise.h"
#include "support/difference.h"
#include "support/operations_trial.h"

namespace saddle::operations {
namespace {

using num::Dual;

constexpr Sizes kPreset{.name = "20m",
                        .sequences = 4,
                        .positions = 1024,
                        .width = 320,
                        .heads = 5,
                        .head_size = 64,
                        .ffn = 896,
                        .vocabulary = 32000};

// Smaller shapes for operations whose tensors would not fit into memory: one chunk of the head's
// rows, and one sequence if all scores are stored.
Sizes timed_sizes(const Operation& operation) {
  Sizes sizes = kPreset;
  for (const Slots& slots : {operation.inputs(sizes), operation.outputs(sizes)}) {
    for (const Slot& slot : slots) {
      if (slot.rows > 8 * sizes.rows()) sizes.sequences = 1;
    }
  }
  if (operation.indices == Indices::kTargets) sizes.sequences = 1;
  return sizes;
}

// Small enough for plain loops, but with more than one block of attention.
Sizes verified_sizes(const Operation& operation) {
  Sizes sizes = kPreset;
  sizes.sequences = 1;
  sizes.positions = operation.indices == Indices::kTargets ? 8 : 160;
  return sizes;
}

// Like draw(), but repeats a short random sequence: the largest tensors have 10^8 numbers.
Values repeated_draw(const Slots& slots, uint64_t seed) {
  Values values;
  for (const Slot& slot : slots) {
    constexpr int64_t kPeriod = 65537;
    const int64_t size = slot.rows * slot.cols;
    Slot part = slot;
    part.rows = 1;
    part.cols = std::min(size, kPeriod);
    std::vector<double> numbers = draw({part}, 1, 0, seed + values.size())[0];
    numbers.resize(size);
    for (int64_t i = part.cols; i < size; ++i) numbers[i] = numbers[i - part.cols];
    values.push_back(std::move(numbers));
  }
  return values;
}

double relative_error(const Values& found, const Values& expected) {
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    double difference = 0;
    double size = 0;
    for (size_t j = 0; j < found[i].size(); ++j) {
      difference += (found[i][j] - expected[i][j]) * (found[i][j] - expected[i][j]);
      size += expected[i][j] * expected[i][j];
    }
    worst = std::max(worst, or_infinity(std::sqrt(difference / std::max(size, 1e-300))));
  }
  return worst;
}

// Compares values, and derivatives along the values themselves, with plain loops, and the adjoint
// with double. Sums over thousands of numbers need a larger tolerance than the tests.
template <class S>
std::optional<std::string> verify(Context& context, const Operation& operation) {
  const double tolerance = 8 * operation.float_tolerance;
  const Sizes sizes = verified_sizes(operation);
  const Values in = repeated_draw(operation.inputs(sizes), 1);
  Trial<S> trial(context, operation, sizes);
  trial.set_inputs(0, in);
  if constexpr (num::kPlanes<S> == 2) trial.set_inputs(1, in);
  trial.forward();
  if (const double error =
          relative_error(trial.outputs(0), plain_outputs(operation, sizes, in, 0, true));
      !(error <= tolerance)) {
    return "values differ from plain loops by " + std::to_string(error);
  }
  if constexpr (num::kPlanes<S> == 2) {
    constexpr double kStep = 1e-100;
    std::vector<std::vector<std::complex<double>>> bent;
    for (const auto& tensor : in) {
      bent.emplace_back();
      for (const double x : tensor) bent.back().emplace_back(x, kStep * x);
    }
    Values tangents;
    for (const auto& tensor : plain_outputs(operation, sizes, bent)) {
      tangents.emplace_back();
      for (const auto& x : tensor) tangents.back().push_back(x.imag() / kStep);
    }
    if (const double error = relative_error(trial.outputs(1), tangents); !(error <= tolerance)) {
      return "derivatives differ from the complex step by " + std::to_string(error);
    }
  }
  if (operation.over<S>().adjoint == nullptr) return std::nullopt;
  const Values d_out = operation.weighted
                           ? weights_as_adjoints(draw_weights(sizes, 0), sizes.rows())
                           : repeated_draw(operation.outputs(sizes), 5);
  Trial<double> wide(context, operation, sizes);
  wide.set_inputs(0, in);
  wide.forward();
  wide.set_adjoints(0, d_out);
  wide.adjoint();
  trial.set_adjoints(0, d_out);
  trial.adjoint();
  if (const double error = relative_error(trial.gradients(0), wide.gradients(0));
      !(error <= tolerance)) {
    return "gradients differ from double by " + std::to_string(error);
  }
  return std::nullopt;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double measure_peak(Context& context, int tries) {
  return bench::measure_product_peak<float>(context, 2048, tries);
}

// Bytes read and written per second by a copy of arrays far larger than the caches; the best of
// `tries`.
double measure_bandwidth(Context& context, int tries) {
  constexpr int64_t kSize = int64_t{1} << 26;
  const backend::Tensor<float> from(context, 1, 1, kSize), to(context, 1, 1, kSize);
  double best = 1e300;
  for (int i = 0; i < tries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ops::copy<float>(context, from.view(), to.view());
    best = std::min(best, seconds_since(begin));
  }
  return 2.0 * kSize * sizeof(float) / best;
}

// The best rates of this machine so far.
struct Peaks {
  double product = 0;  // operations per second
  double memory = 0;   // bytes per second
};

template <class S>
void time_operation(benchmark::State& state, Context& context, const Operation& operation,
                    bool adjoint, Peaks& peaks) {
  if (const auto fault = verify<S>(context, operation)) {
    state.SkipWithError(fault->c_str());
    return;
  }
  const Sizes sizes = timed_sizes(operation);
  Trial<S> trial(context, operation, sizes, {.garbage = 0});
  for (int p = 0; p < num::kPlanes<S>; ++p) {
    trial.set_inputs(p, repeated_draw(operation.inputs(sizes), 1 + 100 * p));
  }
  trial.forward();
  if (adjoint) {
    for (int p = 0; p < num::kPlanes<S>; ++p) {
      trial.set_adjoints(p, repeated_draw(operation.outputs(sizes), 5 + 100 * p));
    }
    trial.adjoint();
  }
  const Calls<S>& calls = operation.over<S>();
  if (operation.products) peaks.product = std::max(peaks.product, measure_peak(context, 2));
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state) (adjoint ? calls.adjoint : calls.forward)(trial.run());
  const double seconds = seconds_since(begin) / static_cast<double>(state.iterations());

  int64_t elements = 0;
  for (const Slots& slots : {operation.inputs(sizes), operation.outputs(sizes)}) {
    for (const Slot& slot : slots) elements = std::max(elements, slot.rows * slot.cols);
  }
  const Cost cost = (adjoint ? operation.adjoint_cost : operation.forward_cost)(sizes);
  if (operation.products) {
    // A product of dual numbers is three products of real numbers.
    const double operations = cost.operations * (num::kPlanes<S> == 2 ? 3 : 1);
    state.counters["GFLOP/s"] = operations / seconds * 1e-9;
    state.counters["%peak"] = 100 * operations / seconds / peaks.product;
  } else {
    const double bytes = cost.moves * num::kPlanes<S> * sizeof(Plane<S>);
    state.counters["GB/s"] = bytes / seconds * 1e-9;
    state.counters["%peak"] = 100 * bytes / seconds / peaks.memory;
    state.counters["ns/number"] = seconds * 1e9 / static_cast<double>(elements);
  }
}

template <class S>
void add_rows(Context& context, const Operation& operation, const char* number, Peaks& peaks) {
  const Calls<S>& calls = operation.over<S>();
  for (const bool adjoint : {false, true}) {
    if ((adjoint ? calls.adjoint : calls.forward) == nullptr) continue;
    const std::string name = operation.name + (adjoint ? "_adjoint<" : "_forward<") + number + ">";
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&context, operation, adjoint, &peaks](benchmark::State& state) {
                                   time_operation<S>(state, context, operation, adjoint, peaks);
                                 })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  int threads = omp_get_num_procs();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--threads=", 0) != 0) {
      fail(ErrorKind::kUsage, "expected --threads=N or an option of Google Benchmark, found {}",
           argument);
    }
    threads = std::atoi(argument.c_str() + 10);
  }
  Context context(threads);
  Peaks peaks{measure_peak(context, 5), measure_bandwidth(context, 5)};
  benchmark::AddCustomContext("threads", std::to_string(threads));
  for (const Operation& operation : all_operations()) {
    add_rows<float>(context, operation, "float", peaks);
    add_rows<Dual<float>>(context, operation, "Dual<float>", peaks);
  }
  benchmark::RunSpecifiedBenchmarks();
  std::printf("largest float product: %.1f GFLOP/s, copy in memory: %.1f GB/s, on %d threads\n",
              peaks.product * 1e-9, peaks.memory * 1e-9, threads);
  return 0;
}

}  // namespace
}  // namespace saddle::operations

int main(int argc, char** argv) {
  try {
    return saddle::operations::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "operation_benchmarks: error: %s\n", error.what());
    return 1;
  }
}
