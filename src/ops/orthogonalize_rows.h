// Row body of ops/orthogonalize.h.
#pragma once

#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

inline constexpr int64_t kProjectedColumns = 512;

// y -= sum_j c_j b_j over a block of columns, summed in double.
template <class T>
struct SubtractCombination {
  tensor::View<const double> coefficients;  // [J, 1, 1]
  tensor::View<const T> basis;              // [J, 1, D]
  tensor::View<T> y;                        // [1, 1, D]

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t block) const {
    const int64_t first = block * kProjectedColumns;
    const int64_t left = y.cols() - first;
    const int64_t count = left < kProjectedColumns ? left : kProjectedColumns;
    double sum[(kProjectedColumns + Group::kCount - 1) / Group::kCount] = {};
    for (int64_t j = 0; j < basis.workers(); ++j) {
      const double c = coefficients.row(j, 0).load(0);
      const T* b = basis.row(j, 0).data + first;
      for (int64_t i = group.index(), at = 0; i < count; i += Group::kCount, ++at) {
        sum[at] += c * static_cast<double>(b[i]);
      }
    }
    T* out = y.row(0, 0).data + first;
    for (int64_t i = group.index(), at = 0; i < count; i += Group::kCount, ++at) {
      out[i] = static_cast<T>(static_cast<double>(out[i]) - sum[at]);
    }
  }
};

}  // namespace saddle::ops
