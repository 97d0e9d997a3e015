// Loops over independent work, shared among the threads of a context. The first exception of a
// piece of work is rethrown after the loop; the other pieces are still done.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "backend/context.h"

namespace saddle::backend {

// The number of threads for `count` pieces of work. One inside a loop that is already shared, and
// under the thread sanitizer: it does not know the barriers of the OpenMP library and would report
// its loops as races.
inline int loop_threads([[maybe_unused]] const Context& context, [[maybe_unused]] int64_t count) {
#if defined(__SANITIZE_THREAD__)
  return 1;
#else
  if (context.is_lane() || omp_in_parallel() != 0) return 1;
  return static_cast<int>(std::min<int64_t>(context.threads(), count));
#endif
}

// Keeps the first exception of a parallel loop: none may leave the loop.
class FirstException {
 public:
  template <class Work>
  void guard(Work&& work) noexcept {
    try {
      work();
    } catch (...) {
      if (!taken_.exchange(true)) exception_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::atomic<bool> taken_{false};
  std::exception_ptr exception_;
};

// fn(lane, i) for every i in [0, count), each given to the next free thread; for few, large pieces.
// `lane` is the context in which the piece runs its operations: that of one thread, or `context`
// itself if the loop is not shared.
template <class Fn>
void parallel_tasks(Context& context, int64_t count, Fn&& fn) {
  const int threads = context.on_host() ? loop_threads(context, count) : 1;
  FirstException first;
  if (threads <= 1) {
    for (int64_t i = 0; i < count; ++i) first.guard([&] { fn(context, i); });
    first.rethrow();
    return;
  }
  context.begin_lanes();
  if (context.measuring()) {
    for (int64_t i = 0; i < count; ++i) fn(context.lane(0), i);
    context.end_lanes();
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const ProfiledShare share(context.profile(), omp_get_thread_num());
    Context& lane = context.lane(omp_get_thread_num());
#pragma omp for schedule(dynamic, 1) nowait
    for (int64_t i = 0; i < count; ++i) {
      first.guard([&] { fn(lane, i); });
    }
  }
  context.end_lanes();
  first.rethrow();
}

// fn(i) for every i in [0, count), in equal consecutive shares; for many small pieces.
template <class Fn>
void parallel_for(Context& context, int64_t count, Fn&& fn) {
  const int threads = loop_threads(context, count);
  FirstException first;
  if (threads <= 1) {
    for (int64_t i = 0; i < count; ++i) first.guard([&] { fn(i); });
    first.rethrow();
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const ProfiledShare share(context.profile(), omp_get_thread_num());
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < count; ++i) {
      first.guard([&] { fn(i); });
    }
  }
  first.rethrow();
}

}  // namespace saddle::backend
