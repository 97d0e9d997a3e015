#include "backend/tensor.h"

namespace saddle::backend {
namespace {

// The rows of a view as few pieces of equal distance: fn(first number, rows, cols, row stride).
template <class S, class Fn>
void for_matrices(View<S> view, Fn&& fn) {
  const bool joined_rows = view.row_stride() == view.cols() || view.rows() == 1;
  const int64_t size = view.rows() * view.cols();
  if (joined_rows && view.worker_stride() >= size) {  // each worker is one long row
    return fn(view.row(0, 0), view.workers(), size, view.worker_stride());
  }
  for (int64_t n = 0; n < view.workers(); ++n) {
    fn(view.row(n, 0), view.rows(), view.cols(), view.row_stride());
  }
}

}  // namespace

template <class S>
void copy_to_host(Context& context, View<const S> view, int plane, num::Plane<S>* host) {
  if (view.size() == 0) return;
  constexpr auto kSize = static_cast<int64_t>(sizeof(num::Plane<S>));
  ++context.counters().host_reads;
  context.counters().bytes_to_host += view.size() * kSize;
  if (context.measuring()) return;
  for_matrices(view, [&](auto first, int64_t rows, int64_t cols, int64_t stride) {
    context.device().copy_to_host(host, first.plane(plane), rows, cols * kSize, stride * kSize);
    host += rows * cols;
  });
}

template <class S>
void copy_from_host(Context& context, const num::Plane<S>* host, int plane, View<S> view) {
  if (view.size() == 0) return;
  constexpr auto kSize = static_cast<int64_t>(sizeof(num::Plane<S>));
  context.counters().bytes_to_device += view.size() * kSize;
  if (context.measuring()) return;
  for_matrices(view, [&](auto first, int64_t rows, int64_t cols, int64_t stride) {
    context.device().copy_to_device(first.plane(plane), host, rows, cols * kSize, stride * kSize);
    host += rows * cols;
  });
}

#define SADDLE_INSTANTIATE(S)                                                  \
  template void copy_to_host<S>(Context&, View<const S>, int, num::Plane<S>*); \
  template void copy_from_host<S>(Context&, const num::Plane<S>*, int, View<S>);
SADDLE_FOR_FORWARD_STORAGE(SADDLE_INSTANTIATE)
SADDLE_INSTANTIATE(int32_t)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::backend
