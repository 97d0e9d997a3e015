// Loops over the rows of all workers, on any device.
//
// A row body is a trivially copyable struct of views and constants with
//
//   template <class Group>
//   constexpr void operator()(Group group, int64_t n, int64_t m) const;
//
// which computes row m of worker n with the lanes of a group (ops/group.h). It holds no references
// and no containers of the host, and it does not know which thread runs it.
#pragma once

#include <algorithm>
#include <type_traits>
#include <typeindex>

#include "backend/context.h"
#include "backend/parallel.h"
#include "ops/group.h"

namespace saddle::ops {

using backend::Context;
using backend::Rows;

// Counts a loop, and starts it unless it is for the threads of the host: returns whether it is.
template <class Body>
bool is_for_threads(Context& context, const Rows& rows, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  const int64_t total = rows.workers * rows.rows;
  if (total == 0) return false;
  ++context.counters().launches;
  context.counters().kernel_bytes += total * rows.bytes;
  if (context.measuring()) return false;
  if (context.on_host()) return true;
  context.device().launch(rows, {typeid(Body), &body, sizeof(Body)});
  return false;
}

// body(group, n, m) for all rows of all workers.
template <class Body>
void for_rows(Context& context, const Rows& rows, const Body& body) {
  if (!is_for_threads(context, rows, body)) return;
  constexpr int64_t kRows = 8;  // enough rows per block to be worth the overhead of a thread
  const int64_t total = rows.workers * rows.rows;
  backend::parallel_for(context, (total + kRows - 1) / kRows, [&](int64_t block) {
    const int64_t end = std::min(total, (block + 1) * kRows);
    for (int64_t i = block * kRows; i < end; ++i) body(OneLane{}, i / rows.rows, i % rows.rows);
  });
}

// The same for few, large rows: each is given to the next free thread.
template <class Body>
void for_large_rows(Context& context, const Rows& rows, const Body& body) {
  if (!is_for_threads(context, rows, body)) return;
  backend::parallel_tasks(context, rows.workers * rows.rows, [&](Context&, int64_t i) {
    body(OneLane{}, i / rows.rows, i % rows.rows);
  });
}

}  // namespace saddle::ops
