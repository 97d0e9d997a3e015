// Tensors that own their memory, and the explicit copies between device and host.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/context.h"
#include "num/number_types.h"
#include "tensor/layout.h"
#include "tensor/view.h"

namespace saddle::backend {

using tensor::View;

// A contiguous [workers, rows, cols] in planes, zero at first.
template <class S>
class Tensor {
 public:
  Tensor() = default;
  Tensor(Context& context, int64_t workers, int64_t rows, int64_t cols)
      : memory_(context.allocate(workers * rows * cols * num::kPlanes<S> *
                                 static_cast<int64_t>(sizeof(num::Plane<S>)))),
        view_(static_cast<num::Plane<S>*>(memory_.get()), workers, rows, cols, rows * cols, cols,
              workers * rows * cols) {}

  // A view of numbers that something else owns; the owner must outlive the tensor.
  explicit Tensor(View<S> view) : view_(view) {}

  View<S> view() const { return view_; }
  operator View<S>() const { return view_; }        // NOLINT
  operator View<const S>() const { return view_; }  // NOLINT
  int64_t bytes() const { return memory_.bytes(); }

 private:
  Memory memory_;
  View<S> view_;
};

// Named tensors of `workers` models in one block: [planes][workers][padded size of the layout].
// Padding is zero and stays zero.
template <class S>
class Arena {
 public:
  Arena() = default;
  // `context` must outlive it.
  Arena(Context& context, const tensor::Layout& layout, int64_t workers)
      : context_(&context), layout_(layout), storage_(context, workers, 1, layout.padded_size()) {}

  // One worker as a separate arena over the memory of this one, which must outlive it.
  Arena worker(int64_t n) const { return like(storage_.view().worker_range(n, 1)); }

  // The only worker as `workers` equal ones over the same memory. Only for reading.
  Arena repeated(int64_t workers) const { return like(storage_.view().repeat(workers)); }

  Context& context() const { return *context_; }
  const tensor::Layout& layout() const { return layout_; }
  int64_t workers() const { return storage_.view().workers(); }

  // The tensor at a slot of the layout: [workers, rows, cols].
  View<S> view(int slot) const { return rows_from(slot, layout_.slot(slot).rows); }

  // `rows` rows of the width of `slot`, beginning there: tensors that follow each other without
  // padding, seen as one matrix.
  View<S> rows_from(int slot, int64_t rows) const {
    const tensor::Slot& at = layout_.slot(slot);
    const View<S> all = storage_.view();
    return View<S>(all.device_data() + at.offset, all.workers(), rows, at.cols, all.worker_stride(),
                   at.cols, all.plane_stride());
  }

  // Everything, padding included: [workers, 1, padded size].
  View<S> all() const { return storage_.view(); }

 private:
  Arena like(View<S> view) const {
    Arena other;
    other.context_ = context_;
    other.layout_ = layout_;
    other.storage_ = Tensor<S>(view);
    return other;
  }

  Context* context_ = nullptr;
  tensor::Layout layout_;
  Tensor<S> storage_;
};

// Copies one plane of a view to or from host memory, [workers][rows][cols] in order. `host` has
// view.size() numbers. Reading waits for everything requested before.
template <class S>
void copy_to_host(Context& context, View<const S> view, int plane, num::Plane<S>* host);
template <class S>
void copy_from_host(Context& context, const num::Plane<S>* host, int plane, View<S> view);

// The values of a view in host memory.
template <class S>
std::vector<num::Plane<S>> to_host(Context& context, View<const S> view) {
  std::vector<num::Plane<S>> host(view.size());
  copy_to_host<S>(context, view, 0, host.data());
  return host;
}

}  // namespace saddle::backend
