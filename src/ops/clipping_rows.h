// Row body of ops/clipping.h.
#pragma once

#include <cmath>

#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

// The only row: lanes share the workers.
struct DecideUpdate {
  double clip;  // infinite: no clipping
  tensor::View<const double> weights;
  tensor::View<double> loss, norm, scale, commit;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t) const {
    double bad = 0;
    for (int64_t n = group.index(); n < loss.workers(); n += Group::kCount) {
      const double mean = loss.row(n, 0).load(0) * weights.row(n, 0).load(0);
      const double length = std::sqrt(norm.row(n, 0).load(0));
      const double least = clip / (length + 1e-6);
      loss.row(n, 0).store(0, mean);
      norm.row(n, 0).store(0, length);
      scale.row(n, 0).store(0, least < 1 ? least : 1.0);
      // x - x is 0 for finite numbers only.
      const bool finite = mean - mean == 0 && length - length == 0;
      bad = finite ? bad : 1.0;
    }
    bad = group.max(bad);
    if (group.first()) commit.row(0, 0).store(0, bad == 0 ? 1.0 : 0.0);
  }
};

}  // namespace saddle::ops
