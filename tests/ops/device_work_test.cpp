// What operations request from a device: counters of a small sequence, nothing while measuring, and
// sums that stay on the device.
#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/output_head.h"
#include "ops/reduce.h"
#include "ops/rmsnorm.h"
#include "ops/rows.h"
#include "ops/tensors.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

using backend::DeviceCounters;
using num::Dual;

TEST(DeviceWork, OfASmallSequenceIsCounted) {
  for (const int threads : {1, 2, 3}) {
    Context context = test_context(threads);
    const auto x = random_tensor<float>(context, 2, 6, 8, 1);
    const auto weight = random_tensor<float>(context, 2, 10, 8, 2);
    const Tensor<float> y(context, 2, 6, 10);
    const Tensor<double> totals(context, 2, 1, 1);
    EXPECT_EQ(context.counters().bytes_to_device, 4 * (2 * 6 * 8 + 2 * 10 * 8));
    EXPECT_EQ(context.counters().launches, 0);
    DeviceCounters before = context.counters();
    const auto since = [&] {
      return context.counters() - std::exchange(before, context.counters());
    };

    linear_forward<float>(context, x, weight, y);
    const DeviceCounters linear = since();
    EXPECT_EQ(linear.products, 1) << "all workers in one batch";
    EXPECT_EQ(linear.launches, 0);

    accumulate<float>(context, y, y.view());
    const DeviceCounters added = since();
    EXPECT_EQ(added.launches, 1);
    EXPECT_EQ(added.products, 0);
    EXPECT_EQ(added.kernel_bytes, 3 * 4 * 2 * 6 * 10);  // reads x and y, writes y

    sum<float>(context, y, totals);
    const DeviceCounters summed = since();
    EXPECT_EQ(summed.launches, 2);  // the pieces, and their sum
    EXPECT_EQ(summed.host_reads, 0);
    // Reads y, then one number for each worker.
    EXPECT_EQ(summed.kernel_bytes, 4 * 2 * 6 * 10 + 8 * 2);

    backend::to_host<double>(context, totals);
    const DeviceCounters read = since();
    EXPECT_EQ(read.launches, 0);
    EXPECT_EQ(read.host_reads, 1);
    EXPECT_EQ(read.bytes_to_host, 16);
    EXPECT_EQ(read.bytes_to_device, 0);
  }
}

// Dual numbers need three products of real numbers, and twice the memory.
TEST(DeviceWork, OfDualNumbersIsCounted) {
  Context context = test_context(1);
  const Tensor<Dual<double>> x(context, 1, 3, 4), weight(context, 1, 5, 4), y(context, 1, 3, 5);
  linear_forward<Dual<double>>(context, x, weight, y);
  EXPECT_EQ(context.counters().products, 3);
  copy<Dual<double>>(context, x, x.view());
  EXPECT_EQ(context.counters().kernel_bytes, 2 * 2 * 8 * 12);
}

struct CountRow {
  View<int32_t> visits;  // [N, M, 1]
  template <class Group>
  constexpr void operator()(Group, int64_t n, int64_t m) const {
    visits.row(n, m).add(0, 1);
  }
};

// A body of this test alone has no kernel on other devices.
TEST(Rows, AreVisitedOnceOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3}) {
    for (const int64_t rows : {0, 1, 7, 8, 9, 100}) {
      Context context(threads);
      const Tensor<int32_t> visits(context, 3, rows, 1);
      for_rows(context, {"count", 3, rows, 1, 4}, CountRow{visits.view()});
      for_large_rows(context, {"count", 3, rows, 1, 4}, CountRow{visits.view()});
      EXPECT_EQ(backend::to_host<int32_t>(context, visits), std::vector<int32_t>(3 * rows, 2));
      EXPECT_EQ(context.counters().launches, rows == 0 ? 0 : 2);
      EXPECT_EQ(context.counters().kernel_bytes, 2 * 3 * rows * 4);
    }
  }
}

TEST(Rows, AreNotVisitedWhileMeasuring) {
  Context context(2);
  const Tensor<int32_t> visits(context, 3, 5, 1);
  context.reserve_scratch([&] {
    for_rows(context, {"count", 3, 5, 1, 4}, CountRow{visits.view()});
    for_large_rows(context, {"count", 3, 5, 1, 4}, CountRow{visits.view()});
    EXPECT_EQ(context.counters().launches, 2);
  });
  EXPECT_EQ(context.counters().launches, 0);
  EXPECT_EQ(backend::to_host<int32_t>(context, visits), std::vector<int32_t>(15, 0));
}

// Operations with scratch in the context and in its lanes: measured, they write nothing, count
// nothing, and afterwards they allocate nothing.
TEST(DeviceWork, MeasuringChangesNothingButTheScratchMemory) {
  for (const int threads : {1, 2, 3}) {
    Context context = test_context(threads);
    const AttentionShape shape{.sequences = 2, .positions = 140, .heads = 2, .head_size = 4};
    const auto x = random_tensor<float>(context, 2, 280, 8, 1);
    const auto gain = random_tensor<float>(context, 2, 1, 8, 2);
    const auto table = random_tensor<float>(context, 2, 30, 8, 3);
    const auto y = random_tensor<float>(context, 2, 280, 8, 4);
    const auto r = random_tensor<float>(context, 2, 280, 1, 5);
    const auto dgain = random_tensor<float>(context, 2, 1, 8, 6);
    const auto dtable = random_tensor<float>(context, 2, 30, 8, 7);
    const Tensor<float> dq(context, 2, 280, 8), dk(context, 2, 280, 8), dv(context, 2, 280, 8);
    const Tensor<int32_t> targets(context, 2, 280, 1);
    const Tensor<double> weights = per_worker(context, {0.5, 0.25});
    const Tensor<double> totals = per_worker(context, {3, 4});
    const auto run = [&] {
      rmsnorm_forward<float>(context, x, gain, 1e-5, y, r.view());
      attention_forward<float>(context, shape, y, y, y, x);
      attention_adjoint<float>(context, shape, y, y, y, x, dq, dk, dv);
      output_head_loss_and_gradient<float>(context, x, table, targets, weights, r.view(), y.view(),
                                           dtable.view());
      rmsnorm_adjoint<float>(context, x, gain, r, y, dq, dgain.view());
      sum<float>(context, r, totals.view());
      add_dot<float>(context, x, y, totals.view(), 2);
    };
    const auto all = [&] {
      std::vector<std::vector<float>> numbers;
      for (const auto* tensor : {&x, &gain, &table, &y, &r, &dgain, &dtable, &dq, &dk, &dv}) {
        numbers.push_back(numbers_of<float>(context, *tensor));
      }
      const std::vector<double> sums = backend::to_host<double>(context, totals);
      numbers.emplace_back(sums.begin(), sums.end());
      return numbers;
    };
    const auto before = all();
    const DeviceCounters counters = context.counters();
    context.reserve_scratch(run);
    const DeviceCounters measured = context.counters() - counters;
    EXPECT_EQ(measured.launches, 0);
    EXPECT_EQ(measured.kernel_bytes, 0);
    EXPECT_EQ(measured.products, 0);
    EXPECT_EQ(measured.host_reads, 0);
    EXPECT_EQ(measured.bytes_to_host, 0);
    EXPECT_EQ(measured.bytes_to_device, 0);
    EXPECT_EQ(all(), before);
    const int64_t allocations = context.memory().allocations;
    run();
    EXPECT_EQ(context.memory().allocations, allocations) << threads << " threads";
    EXPECT_NE(all(), before);
    EXPECT_GT((context.counters() - counters).launches, 6);
  }
}

TEST(Reduce, WritesOrAccumulatesOneNumberForEachWorker) {
  Context context = test_context(2);
  const auto x = random_tensor<float>(context, 3, 4, 3001, 1);
  const auto y = random_tensor<float>(context, 3, 4, 3001, 2);
  const std::vector<double> sums = read_sum<float>(context, x);
  const std::vector<double> dots = read_dot<float>(context, x, y);
  const std::vector<double> squares = read_sum_of_squares<float>(context, x);
  const auto totals_of = [&](auto&& op) {
    const Tensor<double> totals = per_worker(context, {10, 20, 30});
    op(totals.view());
    return backend::to_host<double>(context, totals);
  };
  using Totals = View<double>;
  EXPECT_EQ(totals_of([&](Totals t) { sum<float>(context, x, t); }), sums);
  EXPECT_EQ(totals_of([&](Totals t) { dot<float>(context, x, y, t); }), dots);
  EXPECT_EQ(totals_of([&](Totals t) { sum_of_squares<float>(context, x, t); }), squares);
  const auto added = totals_of([&](Totals t) { add_sum<float>(context, x, t); });
  const auto added_dot = totals_of([&](Totals t) { add_dot<float>(context, x, y, t); });
  const auto subtracted = totals_of([&](Totals t) { add_dot<float>(context, x, y, t, -0.5); });
  for (size_t n = 0; n < 3; ++n) {
    const double old = 10 * static_cast<double>(n + 1);
    EXPECT_EQ(added[n], old + sums[n]);
    EXPECT_EQ(added_dot[n], old + dots[n]);
    EXPECT_EQ(subtracted[n], old - 0.5 * dots[n]);
  }
}

// Derivatives are summed like values, into slots of the same kind of number.
TEST(Reduce, AccumulatesDerivatives) {
  Context context = test_context(2);
  const auto x = random_tensor<Dual<float>>(context, 2, 3, 50, 1);
  const std::vector<Dual<double>> sums = read_sum<Dual<float>>(context, x);
  const Tensor<Dual<double>> totals(context, 2, 1, 1);
  add_sum<Dual<float>>(context, x, totals.view());
  add_sum<Dual<float>>(context, x, totals.view());
  const std::vector<float> host = numbers_of<Dual<float>>(context, x);
  const std::vector<double> found = numbers_of<Dual<double>>(context, totals);
  for (size_t n = 0; n < 2; ++n) {
    EXPECT_EQ(found[n], 2 * sums[n].v);
    EXPECT_EQ(found[2 + n], 2 * sums[n].t);
    const auto first = host.begin() + 300 + static_cast<int64_t>(n) * 150;
    // 150 additions in double of numbers near 1.
    EXPECT_NEAR(sums[n].t, std::accumulate(first, first + 150, 0.0), 1e-13);
  }
}

TEST(Reduce, RefusesTotalsOfOtherWorkers) {
  Context context = test_context(1);
  const Tensor<float> x(context, 2, 3, 4);
  const Tensor<double> one(context, 1, 1, 1), wide(context, 2, 1, 2);
  for (const Tensor<double>* totals : {&one, &wide}) {
    expect_error(ErrorKind::kInternal, {"sum", "result"},
                 [&] { sum<float>(context, x, totals->view()); });
    expect_error(ErrorKind::kInternal, {"dot", "result"},
                 [&] { dot<float>(context, x, x, totals->view()); });
  }
}

}  // namespace
}  // namespace saddle::ops
