// Device memory, scratch memory and the records of both.
#include "backend/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "backend/parallel.h"
#include "support/expect_error.h"

namespace saddle::backend {
namespace {

bool aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 64 == 0;
}

bool all_zero(const Memory& memory) {
  const char* bytes = static_cast<const char*>(memory.get());
  return std::all_of(bytes, bytes + memory.bytes(), [](char byte) { return byte == 0; });
}

TEST(Memory, IsAlignedZeroAndCounted) {
  Context context(1);
  {
    // A few bytes, and a block large enough for its own pages.
    const Memory small = context.allocate(13);
    const Memory large = context.allocate((int64_t{4} << 20) + 5);
    for (const Memory* memory : {&small, &large}) {
      EXPECT_TRUE(aligned(memory->get()));
      EXPECT_TRUE(all_zero(*memory));
    }
    EXPECT_EQ(context.memory().bytes_now, 13 + (int64_t{4} << 20) + 5);
    EXPECT_EQ(context.memory().allocations, 2);
  }
  EXPECT_EQ(context.memory().bytes_now, 0);
  EXPECT_EQ(context.memory().bytes_peak, 13 + (int64_t{4} << 20) + 5);
}

TEST(Memory, MovesWithoutBeingCountedTwice) {
  Context context(1);
  Memory first = context.allocate(64);
  void* address = first.get();
  Memory second = std::move(first);
  EXPECT_EQ(second.get(), address);
  Memory third = context.allocate(128);
  third = std::move(second);
  EXPECT_EQ(third.get(), address);
  EXPECT_EQ(third.bytes(), 64);
  second = Memory();
  EXPECT_EQ(context.memory().bytes_now, 64);
}

TEST(Memory, OutlivesItsContext) {
  Memory memory;
  {
    Context context(1);
    memory = context.allocate(100);
  }
  EXPECT_TRUE(all_zero(memory));
}

TEST(Memory, NamesTheRequestWhenThereIsNotEnough) {
  Context context(1);
  const Memory held = context.allocate(1000);
  constexpr int64_t kAbsurd = std::numeric_limits<int64_t>::max() / 2;
  expect_error(ErrorKind::kDevice, {"not enough memory", "4611686018427387903", "1000"},
               [&] { context.allocate(kAbsurd); });
  expect_error(ErrorKind::kInternal, {"-1"}, [&] { context.allocate(-1); });
  // Nothing was counted, and the context stays usable.
  EXPECT_EQ(context.memory().bytes_now, 1000);
  EXPECT_EQ(context.memory().allocations, 1);
  EXPECT_NE(context.allocate(10).get(), nullptr);
}

TEST(Context, NeedsAThread) {
  expect_error(ErrorKind::kInternal, {"0 threads"}, [] { Context context(0); });
}

// Takes three pieces in two nested scopes and checks that they do not overlap.
void use_nested_scopes(Workspace& workspace) {
  Workspace::Scope outer(workspace);
  float* a = outer.take<float>(1000);
  std::fill(a, a + 1000, 1.0f);
  const void* inner_address = nullptr;
  {
    Workspace::Scope inner(workspace);
    double* b = inner.take<double>(5000);
    inner_address = b;
    std::fill(b, b + 5000, 2.0);
    EXPECT_TRUE(aligned(b));
  }
  {
    // Memory returned by the first inner scope is taken again.
    Workspace::Scope inner(workspace);
    double* c = inner.take<double>(5000);
    EXPECT_EQ(c, inner_address);
    std::fill(c, c + 5000, 3.0);
    float* d = inner.take<float>(3);
    std::fill(d, d + 3, 4.0f);
    EXPECT_EQ(std::count(c, c + 5000, 3.0), 5000);
  }
  EXPECT_EQ(std::count(a, a + 1000, 1.0f), 1000);
  EXPECT_TRUE(aligned(a));
}

TEST(Workspace, RepeatedUseAllocatesNothing) {
  Context context(1);
  // The first use finds out what is needed, the second allocates it as one block.
  use_nested_scopes(context.workspace());
  use_nested_scopes(context.workspace());
  const int64_t allocations = context.memory().allocations;
  const int64_t bytes = context.memory().bytes_now;
  for (int i = 0; i < 10; ++i) use_nested_scopes(context.workspace());
  EXPECT_EQ(context.memory().allocations, allocations);
  EXPECT_EQ(context.memory().bytes_now, bytes);
}

TEST(Workspace, ReservedMemorySuffices) {
  Context context(1);
  context.workspace().reserve(4032 + 40000 + 64);  // each piece at a multiple of 64 bytes
  EXPECT_EQ(context.memory().allocations, 1);
  use_nested_scopes(context.workspace());
  EXPECT_EQ(context.memory().allocations, 1);
  context.workspace().reserve(100);  // the workspace is already larger
  EXPECT_EQ(context.memory().allocations, 1);
}

TEST(Workspace, IsNotReservedWhileInUse) {
  Context context(1);
  const Workspace::Scope scope(context.workspace());
  expect_error(ErrorKind::kInternal, {"in use"}, [&] { context.workspace().reserve(10); });
}

TEST(Parallel, VisitsEveryPieceOnce) {
  for (const int threads : {1, 2, 3}) {
    Context context(threads);
    for (const int64_t count : {0, 1, 2, 7, 100}) {
      std::vector<int> visits(count);
      std::vector<int> tasks(count);
      std::vector<int> strangers(count);  // pieces in a context of no thread
      parallel_for(context, count, [&](int64_t i) { ++visits[i]; });
      parallel_tasks(context, count, [&](Context& lane, int64_t i) {
        ++tasks[i];
        bool known = &lane == &context;
        for (int thread = 0; threads > 1 && thread < threads; ++thread) {
          known = known || &lane == &context.lane(thread);
        }
        strangers[i] = known ? 0 : 1;
      });
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), count);
      EXPECT_EQ(std::count(tasks.begin(), tasks.end(), 1), count);
      EXPECT_EQ(std::count(strangers.begin(), strangers.end(), 1), 0);
    }
  }
}

}  // namespace
}  // namespace saddle::backend
