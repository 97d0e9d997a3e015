#include "backend/tensor.h"

#include <algorithm>

namespace saddle::backend {

template <class S>
void copy_to_host(View<const S> view, int plane, num::Plane<S>* host) {
  for (int64_t n = 0; n < view.workers(); ++n) {
    for (int64_t r = 0; r < view.rows(); ++r) {
      const num::Plane<S>* row = view.row(n, r).plane(plane);
      host = std::copy(row, row + view.cols(), host);
    }
  }
}

template <class S>
void copy_from_host(const num::Plane<S>* host, int plane, View<S> view) {
  for (int64_t n = 0; n < view.workers(); ++n) {
    for (int64_t r = 0; r < view.rows(); ++r) {
      std::copy(host, host + view.cols(), view.row(n, r).plane(plane));
      host += view.cols();
    }
  }
}

#define SADDLE_INSTANTIATE(S)                                        \
  template void copy_to_host<S>(View<const S>, int, num::Plane<S>*); \
  template void copy_from_host<S>(const num::Plane<S>*, int, View<S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
SADDLE_INSTANTIATE(int32_t)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::backend
