#include "runtime/block.h"

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "runtime/fiber.h"
#include "runtime/kernel_name.h"
#include "runtime/shared_memory.h"
#include "runtime/waiting.h"

namespace emulated {

Running running;

namespace {

constexpr size_t kOrders = 4;  // of threads, in turn, when they are random

// The numbers 0 .. count-1 in the order that set_order() asks for.
std::vector<int64_t> ordered(int64_t count, uint64_t order, uint64_t variant) {
  if (order > 1) {
    return saddle::random_permutation(
        saddle::RandomStream(order, saddle::RandomPurpose::kTest, variant), count);
  }
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    numbers[static_cast<size_t>(i)] = order == 0 ? i : count - 1 - i;
  }
  return numbers;
}

uint3 position(int64_t index, const dim3& size) {
  const int64_t x = size.x;
  const int64_t y = size.y;
  return {static_cast<unsigned>(index % x), static_cast<unsigned>(index / x % y),
          static_cast<unsigned>(index / (x * y))};
}

// Found on a fiber, put into words on the stack of the host.
enum class Failure { kNone, kWaiting, kException, kSharedMemory };

// What runs on fibers uses plain arrays and makes no text: the functions of the standard library
// may be copies that the thread sanitizer watches.
class Grid {
 public:
  Status run(const Launch& launch, uint64_t order);
  uint64_t wait(const Wait& wait);
  void* shared(SharedArray& array);
  void* dynamic_shared();
  unsigned lane() const { return static_cast<unsigned>(now_ - threads_.data()) % kWarp; }
  bool runs() const { return now_ != nullptr; }
  std::string place() const;
  bool overflows_at(const void* address) const;

 private:
  static void carry_threads();  // what every fiber does
  void prepare(const Launch& launch, uint64_t order);
  void run_block(int64_t index);
  void start_next();
  void go_on_elsewhere();
  Fiber* next_fiber();
  Thread* next_ready();
  bool release_waiting();
  void enter(Thread& thread);
  void choose_order();
  void abandon(Failure failure);
  std::string why_failed();
  void check_kernel_runs() const;

  const Launch* launch_ = nullptr;
  std::array<Thread, kThreadsPerBlock> threads_{};
  unsigned thread_count_ = 0;
  unsigned started_ = 0;
  unsigned cursor_ = 0;  // threads before it, in this order, cannot go on
  const int64_t* thread_order_ = nullptr;
  std::array<const int64_t*, kOrders> thread_orders_{};
  size_t orders_used_ = 0;
  std::map<std::pair<uint64_t, unsigned>, std::array<std::vector<int64_t>, kOrders>> known_orders_;

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::array<Fiber*, kThreadsPerBlock> idle_{};
  unsigned idle_count_ = 0;
  std::unique_ptr<Fiber> host_;
  Fiber* fiber_ = nullptr;  // that runs
  Thread* now_ = nullptr;   // the thread that runs

  SharedMemory shared_memory_{kUnorderedBlocks};
  unsigned block_number_ = 0;  // in the order of running
  Failure failure_ = Failure::kNone;
  const SharedArray* too_large_ = nullptr;

  // Addresses that stand for an order of accesses (sanitizers.h).
  uint64_t launched_ = 0;
  uint64_t blocks_done_[2]{};  // of the last kUnorderedBlocks and of those before, in turn
  uint64_t block_passed_[kUnorderedBlocks][2]{};
  uint64_t warp_passed_[kUnorderedBlocks][kThreadsPerBlock / kWarp][2]{};
};

// CUDA's API is global, so what carries it out is. Never destroyed: fibers may be in use at exit.
Grid& grid() {
  static Grid* const only = new Grid;
  return *only;
}

Status Grid::run(const Launch& launch, uint64_t order) {
  prepare(launch, order);
  const int64_t blocks = int64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  order_release(&launched_);
  block_number_ = 0;
  std::string why;
  for (const int64_t block : ordered(blocks, order, 0)) {
    run_block(block);
    why = why_failed();
    if (!why.empty()) break;
    ++block_number_;
  }
  for (uint64_t& done : blocks_done_) order_acquire(&done);
  now_ = nullptr;
  launch_ = nullptr;
  if (why.empty()) return {};
  fibers_.clear();  // they may be anywhere
  idle_count_ = 0;
  return {cudaErrorLaunchFailure, why};
}

std::string Grid::why_failed() {
  switch (failure_) {
    case Failure::kWaiting:
      return place() + ": " + describe_waiting({threads_.data(), thread_count_});
    case Failure::kException:
      return place() + ": an exception left the kernel";
    case Failure::kSharedMemory:
      return fmt::format(
          "{}: the shared array \"{}\" of {} bytes does not fit the {} bytes that the launch has",
          place(), too_large_->name, too_large_->bytes, shared_memory_.limit());
    case Failure::kNone:
      break;
  }
  const char* damaged = shared_memory_.damaged();
  if (damaged == nullptr) return {};
  return fmt::format("{}: a write beyond the end of the shared array \"{}\"", place(), damaged);
}

void Grid::prepare(const Launch& launch, uint64_t order) {
  launch_ = &launch;
  failure_ = Failure::kNone;
  thread_count_ = launch.block.x * launch.block.y * launch.block.z;
  running.block_size = launch.block;
  running.grid = launch.grid;
  shared_memory_.begin_launch(launch.dynamic_shared, launch.shared_limit);
  for (unsigned t = 0; t < thread_count_; ++t) threads_[t].index = position(t, launch.block);
  auto& orders = known_orders_[{order, thread_count_}];
  for (size_t i = 0; i < kOrders; ++i) {
    if (orders[i].empty()) orders[i] = ordered(thread_count_, order, i + 1);
    thread_orders_[i] = orders[i].data();
  }
  orders_used_ = 0;
  host_ = std::make_unique<Fiber>();
  while (fibers_.size() < thread_count_) {
    fibers_.push_back(std::make_unique<Fiber>(&Grid::carry_threads));
    idle_[idle_count_++] = fibers_.back().get();
  }
}

void Grid::run_block(int64_t index) {
  shared_memory_.begin_block(block_number_);
  running.block = position(index, launch_->grid);
  for (unsigned t = 0; t < thread_count_; ++t) {
    threads_[t].state = Thread::kNew;
    threads_[t].barriers = 0;
  }
  started_ = 0;
  choose_order();
  fiber_ = kThreadSanitizer ? fibers_[0].get() : idle_[--idle_count_];
  Fiber::switch_to(*host_, *fiber_);
}

void Grid::choose_order() {
  thread_order_ = thread_orders_[orders_used_++ % kOrders];
  cursor_ = 0;
}

void Grid::carry_threads() {
  Grid& self = grid();
  for (;;) {
    do {
      self.start_next();
    } while (!kThreadSanitizer && self.started_ < self.thread_count_);
    if (!kThreadSanitizer) self.idle_[self.idle_count_++] = self.fiber_;
    self.go_on_elsewhere();
  }
}

void Grid::start_next() {
  Thread& thread = threads_[static_cast<size_t>(thread_order_[started_++])];
  thread.fiber = fiber_;
  enter(thread);
  order_acquire(&launched_);
  const unsigned turn = block_number_ / kUnorderedBlocks % 2;
  if (block_number_ % kUnorderedBlocks == 0) order_acquire(&blocks_done_[1 - turn]);
  bool threw = false;
  try {
    launch_->body();
  } catch (...) {
    threw = true;  // leaves the handler first: it belongs to the thread of the host
  }
  if (threw) abandon(Failure::kException);
  order_release(&blocks_done_[turn]);
  thread.state = Thread::kDone;
}

void Grid::enter(Thread& thread) {
  thread.state = Thread::kRuns;
  now_ = &thread;
  running.thread = thread.index;
}

void Grid::go_on_elsewhere() {
  Fiber* const from = fiber_;
  Fiber* const to = next_fiber();
  if (to == from) return;
  fiber_ = to;
  Fiber::switch_to(*from, *to);
}

// Threads that have not started come first; then those that can go on; at the end the host.
Fiber* Grid::next_fiber() {
  if (started_ < thread_count_) {
    return kThreadSanitizer ? fibers_[started_].get() : idle_[--idle_count_];
  }
  Thread* thread = next_ready();
  if (thread == nullptr && release_waiting()) thread = next_ready();
  if (thread == nullptr) return host_.get();
  enter(*thread);
  return thread->fiber;
}

Thread* Grid::next_ready() {
  while (cursor_ < thread_count_) {
    Thread& thread = threads_[static_cast<size_t>(thread_order_[cursor_++])];
    if (thread.state == Thread::kReady) return &thread;
  }
  return nullptr;
}

// Called when no thread can go on. False when all are done, or wait for ever.
bool Grid::release_waiting() {
  Threads threads{threads_.data(), thread_count_};
  if (all_done(threads)) return false;
  if (release_block(threads) || release_warps(threads)) {
    choose_order();
    return true;
  }
  failure_ = Failure::kWaiting;
  return false;
}

uint64_t Grid::wait(const Wait& wait) {
  Thread& self = *now_;
  self.wait = wait;
  self.state = Thread::kWaits;
  // Two addresses in turn: a thread may reach the next barrier before another has left this one.
  const unsigned turn = self.barriers % 2;
  const unsigned slot = block_number_ % kUnorderedBlocks;
  uint64_t* const passed = wait.kind == Wait::kBlock
                               ? &block_passed_[slot][turn]
                               : &warp_passed_[slot][(&self - threads_.data()) / kWarp][turn];
  if (wait.orders_memory()) {
    ++self.barriers;
    order_release(passed);
  }
  go_on_elsewhere();
  if (wait.orders_memory()) order_acquire(passed);
  return self.result;
}

void* Grid::shared(SharedArray& array) {
  check_kernel_runs();
  void* const memory = shared_memory_.of(array);
  if (memory == nullptr) {
    too_large_ = &array;
    abandon(Failure::kSharedMemory);
  }
  return memory;
}

void* Grid::dynamic_shared() {
  check_kernel_runs();
  return shared_memory_.dynamic();
}

// Never returns: the fiber is destroyed.
void Grid::abandon(Failure failure) {
  failure_ = failure;
  Fiber* const from = fiber_;
  fiber_ = host_.get();
  Fiber::switch_to(*from, *host_);
}

void Grid::check_kernel_runs() const {
  if (!runs()) {
    saddle::fail(saddle::ErrorKind::kInternal, "a function of kernels was called outside of one");
  }
}

std::string Grid::place() const {
  if (launch_ == nullptr) return {};
  const uint3& block = running.block;
  return fmt::format("kernel {}, block ({}, {}, {})", kernel_name(launch_->kernel), block.x,
                     block.y, block.z);
}

bool Grid::overflows_at(const void* address) const {
  for (const std::unique_ptr<Fiber>& fiber : fibers_) {
    if (fiber->overflows_at(address)) return true;
  }
  return false;
}

uint64_t wait_in_kernel(const Wait& wait) {
  if (!grid().runs()) {
    saddle::fail(saddle::ErrorKind::kInternal, "{} was called outside of a kernel", wait.what);
  }
  return grid().wait(wait);
}

}  // namespace

Status run_grid(const Launch& launch, uint64_t order) {
  return grid().run(launch, order);
}

std::string running_thread() {
  if (!grid().runs()) return {};
  const uint3& thread = running.thread;
  return fmt::format("{}, thread ({}, {}, {})", grid().place(), thread.x, thread.y, thread.z);
}

bool is_stack_overflow(const void* address) {
  return grid().overflows_at(address);
}

void* shared_memory(SharedArray& array) {
  return grid().shared(array);
}

void* dynamic_shared_memory() {
  return grid().dynamic_shared();
}

unsigned lane() {
  return grid().lane();
}

void wait_for_block(std::source_location where) {
  wait_in_kernel({.kind = Wait::kBlock, .what = "__syncthreads", .where = where});
}

void wait_for_warp(unsigned mask, std::source_location where) {
  wait_in_kernel({.kind = Wait::kWarp, .what = "__syncwarp", .where = where, .mask = mask});
}

uint64_t exchange(const char* what, unsigned mask, uint64_t value, unsigned source,
                  std::source_location where) {
  return wait_in_kernel({.kind = Wait::kExchange,
                         .what = what,
                         .where = where,
                         .mask = mask,
                         .value = value,
                         .source = source});
}

unsigned ballot(unsigned mask, bool predicate, std::source_location where) {
  return static_cast<unsigned>(wait_in_kernel({.kind = Wait::kBallot,
                                               .what = "a vote of the warp",
                                               .where = where,
                                               .mask = mask,
                                               .value = predicate ? 1u : 0u}));
}

}  // namespace emulated
