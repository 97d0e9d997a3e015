// Loops over independent work, shared among the threads of a context.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "backend/context.h"

namespace saddle::backend {

// fn(i, thread) for every i in [0, count), each handed to the next free thread; for few, large
// pieces. thread is in [0, context.threads()). fn must not throw.
template <class Fn>
void parallel_tasks(Context& context, int64_t count, Fn&& fn) {
  const int threads = static_cast<int>(std::min<int64_t>(context.threads(), count));
  if (threads <= 1) {
    for (int64_t i = 0; i < count; ++i) fn(i, 0);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t i = 0; i < count; ++i) fn(i, omp_get_thread_num());
}

// fn(i) for every i in [0, count), in equal consecutive shares; for many small pieces.
template <class Fn>
void parallel_for(Context& context, int64_t count, Fn&& fn) {
  const int threads = static_cast<int>(std::min<int64_t>(context.threads(), count));
  if (threads <= 1) {
    for (int64_t i = 0; i < count; ++i) fn(i);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < count; ++i) fn(i);
}

}  // namespace saddle::backend
