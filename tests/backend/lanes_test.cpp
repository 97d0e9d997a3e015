// Contexts of threads inside a loop, measuring of scratch memory, and the counters of both.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "backend/context.h"
#include "backend/parallel.h"
#include "backend/tensor.h"
#include "support/expect_error.h"
#include "support/products.h"

namespace saddle::backend {
namespace {

TEST(Lanes, HaveTheirOwnScratchAndCounters) {
  Context context(2);
  context.begin_lanes();
  context.begin_lanes();  // changes nothing
  Context& first = context.lane(0);
  Context& second = context.lane(1);
  EXPECT_TRUE(first.is_lane());
  EXPECT_FALSE(context.is_lane());
  EXPECT_EQ(first.threads(), 1);
  EXPECT_EQ(&first.device(), &context.device());
  {
    Workspace::Scope whole(context.workspace()), one(first.workspace()), two(second.workspace());
    float* const blocks[] = {whole.take<float>(1000), one.take<float>(1000), two.take<float>(1000)};
    for (int i = 0; i < 3; ++i) std::fill(blocks[i], blocks[i] + 1000, static_cast<float>(i));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(std::count(blocks[i], blocks[i] + 1000, static_cast<float>(i)), 1000);
    }
  }
  context.counters().launches = 1;
  first.counters().launches = 20;
  second.counters().launches = 300;
  second.counters().kernel_bytes = 7;
  context.end_lanes();
  EXPECT_EQ(context.counters().launches, 321);
  EXPECT_EQ(context.counters().kernel_bytes, 7);
  EXPECT_EQ(first.counters().launches, 0);
  context.end_lanes();  // counts nothing twice
  EXPECT_EQ(context.counters().launches, 321);
}

TEST(Lanes, CollectEveryCounter) {
  DeviceCounters all{1, 2, 3, 4, 5, 6};
  const DeviceCounters before = all;
  all += DeviceCounters{10, 20, 30, 40, 50, 60};
  const DeviceCounters added = all - before;
  EXPECT_EQ(added.launches, 10);
  EXPECT_EQ(added.kernel_bytes, 20);
  EXPECT_EQ(added.products, 30);
  EXPECT_EQ(added.host_reads, 40);
  EXPECT_EQ(added.bytes_to_host, 50);
  EXPECT_EQ(added.bytes_to_device, 60);
}

// What pieces of a loop do is counted in the context of the loop, on any number of threads.
TEST(Lanes, CountTheirWorkInTheContextOfTheLoop) {
  for (const int threads : {1, 2, 3}) {
    Context context(threads);
    std::vector<double> c(10);
    const double one = 1;
    parallel_tasks(context, 10, [&](Context& lane, int64_t i) {
      ++lane.counters().launches;
      gemm<double>(lane, Transpose::kNo, Transpose::kNo, 1, 1, 1, 2, &one, 1, &one, 1, 0, &c[i], 1);
    });
    EXPECT_EQ(context.counters().launches, 10) << threads;
    EXPECT_EQ(context.counters().products, 10) << threads;
    EXPECT_EQ(c, std::vector<double>(10, 2.0));
  }
}

TEST(Lanes, AreCollectedWhenAPieceFails) {
  Context context(2);
  expect_error(ErrorKind::kData, {"piece 3"}, [&] {
    parallel_tasks(context, 8, [&](Context& lane, int64_t i) {
      ++lane.counters().launches;
      if (i == 3) fail(ErrorKind::kData, "piece {}", i);
    });
  });
#if !defined(__SANITIZE_THREAD__)  // with one thread the loop ends at the failure
  EXPECT_EQ(context.counters().launches, 8);
#endif
}

// A loop inside a loop runs on the thread of its piece, with the same context.
TEST(Lanes, RunLoopsInsideThemselves) {
  Context context(2);
  std::vector<int> visits(24);
  parallel_tasks(context, 4, [&](Context& lane, int64_t i) {
    parallel_tasks(lane, 6, [&](Context& inner, int64_t j) {
      if (&inner == &lane) ++visits[i * 6 + j];
    });
  });
  EXPECT_EQ(visits, std::vector<int>(24, 1));
}

// One thread: every piece in order, in the context itself, without lanes.
TEST(Parallel, OneThreadUsesTheContextItself) {
  Context context(1);
  std::vector<int64_t> order;
  std::set<Context*> contexts;
  parallel_tasks(context, 5, [&](Context& lane, int64_t i) {
    order.push_back(i);
    contexts.insert(&lane);
    Workspace::Scope scope(lane.workspace());
    scope.take<float>(10);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(contexts, std::set<Context*>{&context});
  EXPECT_EQ(context.memory().allocations, 1);
}

TEST(Parallel, OnePieceMayUseAllThreads) {
  Context context(2);
  parallel_tasks(context, 1, [&](Context& lane, int64_t) { EXPECT_EQ(&lane, &context); });
}

// Scratch in two scopes, one in the context and one in each piece of a loop.
void use_scratch(Context& context, int64_t count) {
  Workspace::Scope scope(context.workspace());
  float* const all = scope.take<float>(count);
  if (!context.measuring()) std::fill(all, all + count, 1.0F);
  parallel_tasks(context, 6, [&](Context& lane, int64_t i) {
    Workspace::Scope inner(lane.workspace());
    double* const own = inner.take<double>(count * (i + 1));
    if (!lane.measuring()) std::fill(own, own + count * (i + 1), 2.0);
  });
}

TEST(Measuring, ReservesWhatTheWorkTakes) {
  for (const int threads : {1, 2, 3}) {
    Context context(threads);
    context.reserve_scratch([&] { use_scratch(context, 3000); });
    EXPECT_FALSE(context.measuring());
    const int64_t allocations = context.memory().allocations;
    EXPECT_GT(context.memory().bytes_now, 0);
    for (int i = 0; i < 3; ++i) use_scratch(context, 3000);
    EXPECT_EQ(context.memory().allocations, allocations) << threads;
    // Less is measured later: nothing is given back or allocated.
    const int64_t bytes = context.memory().bytes_now;
    context.reserve_scratch([&] { use_scratch(context, 10); });
    EXPECT_EQ(context.memory().allocations, allocations) << threads;
    EXPECT_EQ(context.memory().bytes_now, bytes);
    context.reserve_scratch([&] { use_scratch(context, 9000); });
    const int64_t more = context.memory().allocations;
    EXPECT_GT(more, allocations);
    use_scratch(context, 9000);
    EXPECT_EQ(context.memory().allocations, more) << threads;
  }
}

TEST(Measuring, TakesTheLargestOfSeveralWorks) {
  Context context(2);
  context.reserve_scratch([&] {
    use_scratch(context, 100);
    use_scratch(context, 5000);
    use_scratch(context, 300);
  });
  const int64_t allocations = context.memory().allocations;
  use_scratch(context, 5000);
  EXPECT_EQ(context.memory().allocations, allocations);
}

TEST(Measuring, WritesNothingAndCountsNothing) {
  Context context(2);
  const Tensor<float> x(context, 2, 3, 4);
  const std::vector<float> ones(24, 1.0F);
  copy_from_host<float>(context, ones.data(), 0, x.view());
  std::vector<float> host(24, 7.0F), c(16, 5.0F);
  const std::vector<float> a(16, 1.0F);
  std::vector<double> wide(16, 5.0);
  const std::vector<double> b(16, 1.0);
  const DeviceCounters before = context.counters();
  int calls = 0;
  context.reserve_scratch([&] {
    EXPECT_TRUE(context.measuring());
    const DeviceCounters begin = context.counters();
    copy_from_host<float>(context, host.data(), 0, x.view());
    copy_to_host<float>(context, x, 0, host.data());
    gemm<float>(context, Transpose::kNo, Transpose::kNo, 4, 4, 4, 1, a.data(), 4, a.data(), 4, 0,
                c.data(), 4);
    gemm<double>(context, Transpose::kNo, Transpose::kNo, 4, 4, 4, 1, b.data(), 4, b.data(), 4, 0,
                 wide.data(), 4);
    // While measuring, requests are counted; the end restores the counters.
    EXPECT_EQ((context.counters() - begin).products, 2);
    EXPECT_EQ((context.counters() - begin).host_reads, 1);
    parallel_tasks(context, 3, [&](Context& lane, int64_t) {
      EXPECT_TRUE(lane.measuring());
      ++lane.counters().launches;
      ++calls;
    });
    EXPECT_EQ((context.counters() - begin).launches, 3);
  });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(host, std::vector<float>(24, 7.0F));
  EXPECT_EQ(c, std::vector<float>(16, 5.0F));
  EXPECT_EQ(wide, std::vector<double>(16, 5.0));
  EXPECT_EQ(to_host<float>(context, x), ones);
  const DeviceCounters after = context.counters() - before;
  EXPECT_EQ(after.launches, 0);
  EXPECT_EQ(after.products, 0);
  EXPECT_EQ(after.host_reads, 1);  // the one just above
  EXPECT_EQ(after.bytes_to_host, 24 * 4);
  EXPECT_EQ(after.bytes_to_device, 0);
}

TEST(Measuring, EndsWithAnException) {
  Context context(2);
  expect_error(ErrorKind::kData, {"refused"}, [&] {
    context.reserve_scratch([&] {
      Workspace::Scope scope(context.workspace());
      scope.take<float>(1000);
      fail(ErrorKind::kData, "refused");
    });
  });
  EXPECT_FALSE(context.measuring());
  EXPECT_EQ(context.memory().allocations, 0);
  use_scratch(context, 10);
}

TEST(Measuring, IsRefusedInsideAnOperation) {
  Context context(1);
  const Workspace::Scope scope(context.workspace());
  expect_error(ErrorKind::kInternal, {"in use"}, [&] { context.reserve_scratch([] {}); });
  EXPECT_FALSE(context.measuring());
}

TEST(Counters, OfCopies) {
  Context context(1);
  const Tensor<num::Dual<float>> x(context, 2, 3, 5);
  const std::vector<float> host(30);
  copy_from_host<num::Dual<float>>(context, host.data(), 1, x.view());
  EXPECT_EQ(context.counters().bytes_to_device, 30 * 4);
  EXPECT_EQ(context.counters().host_reads, 0);
  to_host<num::Dual<float>>(context, x.view().column_range(1, 2));
  EXPECT_EQ(context.counters().host_reads, 1);
  EXPECT_EQ(context.counters().bytes_to_host, 12 * 4);
  to_host<num::Dual<float>>(context, x.view().row_range(0, 0));  // nothing to wait for
  EXPECT_EQ(context.counters().host_reads, 1);
  EXPECT_EQ(context.counters().launches, 0);
}

}  // namespace
}  // namespace saddle::backend
