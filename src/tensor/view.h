// A View: a batched matrix [workers N, rows, cols] of numbers in device memory. Every tensor of
// saddle is one: activations are [N, B*T, C], weights [N, out, in], gains [N, 1, C].
#pragma once

#include <cstdint>

#include "num/number.h"

namespace saddle::tensor {

// Throws an Error of kind kInternal: a part of a tensor extends past its `what`.
[[noreturn]] void fail_part(const char* what);

// Consecutive numbers, each plane an ordinary array. Operations read and write through spans.
// S may be const. load() and store() convert between the type that is stored and that of the
// arithmetic.
template <class S>
struct Span {
  num::Plane<S>* data = nullptr;  // the first plane (values)
  int64_t plane_stride = 0;       // from a number's value to its next plane

  using Number = num::Arithmetic<S>;

  // A writable span converts to a read-only span.
  constexpr operator Span<const S>() const  // NOLINT
      requires(!std::is_const_v<S>) {
    return {data, plane_stride};
  }

  constexpr Number load(int64_t i) const {
    if constexpr (num::kPlanes<S> == 1) {
      return data[i];
    } else {
      Number x;
      for (int p = 0; p < num::kPlanes<S>; ++p) {
        num::NumberTraits<Number>::set(x, p, data[p * plane_stride + i]);
      }
      return x;
    }
  }
  constexpr void store(int64_t i, Number x) const {
    for (int p = 0; p < num::kPlanes<S>; ++p) {
      data[p * plane_stride + i] = num::Plane<S>(num::NumberTraits<Number>::get(x, p));
    }
  }
  constexpr void add(int64_t i, Number x) const { store(i, load(i) + x); }
  constexpr Span offset(int64_t count) const { return {data + count, plane_stride}; }
  constexpr num::Plane<S>* plane(int p) const { return data + p * plane_stride; }
};

template <class S>
class View {
 public:
  constexpr View() = default;
  constexpr View(num::Plane<S>* data, int64_t workers, int64_t rows, int64_t cols,
                 int64_t worker_stride, int64_t row_stride, int64_t plane_stride)
      : data_(data),
        workers_(workers),
        rows_(rows),
        cols_(cols),
        worker_stride_(worker_stride),
        row_stride_(row_stride),
        plane_stride_(plane_stride) {}

  // A writable view converts to a read-only view.
  constexpr operator View<const S>() const  // NOLINT
      requires(!std::is_const_v<S>) {
    return {data_, workers_, rows_, cols_, worker_stride_, row_stride_, plane_stride_};
  }

  constexpr int64_t workers() const { return workers_; }
  constexpr int64_t rows() const { return rows_; }
  constexpr int64_t cols() const { return cols_; }
  constexpr int64_t size() const { return workers_ * rows_ * cols_; }
  constexpr int64_t worker_stride() const { return worker_stride_; }
  constexpr int64_t row_stride() const { return row_stride_; }
  constexpr int64_t plane_stride() const { return plane_stride_; }
  constexpr bool empty() const { return data_ == nullptr; }

  // Rows [first, first + count) of every worker.
  View row_range(int64_t first, int64_t count) const {
    check(first >= 0 && count >= 0 && first + count <= rows_, "rows");
    View part = *this;
    part.data_ += first * row_stride_;
    part.rows_ = count;
    return part;
  }
  // Columns [first, first + count) of every row.
  View column_range(int64_t first, int64_t count) const {
    check(first >= 0 && count >= 0 && first + count <= cols_, "columns");
    View part = *this;
    part.data_ += first;
    part.cols_ = count;
    return part;
  }
  // Workers [first, first + count).
  View worker_range(int64_t first, int64_t count) const {
    check(first >= 0 && count >= 0 && first + count <= workers_, "workers");
    View part = *this;
    part.data_ += first * worker_stride_;
    part.workers_ = count;
    return part;
  }
  // The one worker of this tensor, seen as `workers` equal ones. Only for reading.
  View repeat(int64_t workers) const {
    check(workers_ == 1, "one worker");
    View repeated = *this;
    repeated.workers_ = workers;
    repeated.worker_stride_ = 0;
    return repeated;
  }
  // One plane as a tensor of ordinary numbers.
  View<num::Plane<S>> plane(int p) const {
    check(p >= 0 && p < num::kPlanes<S>, "plane");
    return {data_ + p * plane_stride_, workers_, rows_, cols_, worker_stride_, row_stride_, 0};
  }

  constexpr bool same_shape(int64_t workers, int64_t rows, int64_t cols) const {
    return workers_ == workers && rows_ == rows && cols_ == cols;
  }

  // The numbers themselves. Only src/tensor, src/backend and src/ops may use them: all rooms above
  // move tensors through operations and explicit copies.
  constexpr num::Plane<S>* device_data() const { return data_; }
  constexpr Span<S> row(int64_t worker, int64_t row) const {
    return {data_ + worker * worker_stride_ + row * row_stride_, plane_stride_};
  }

 private:
  static void check(bool inside, const char* what) {
    if (!inside) fail_part(what);
  }

  num::Plane<S>* data_ = nullptr;
  int64_t workers_ = 0, rows_ = 0, cols_ = 0;
  int64_t worker_stride_ = 0, row_stride_ = 0, plane_stride_ = 0;
};

}  // namespace saddle::tensor
