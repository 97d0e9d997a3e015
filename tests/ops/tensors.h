// Makes tensors with random numbers, and copies numbers to host memory.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/tensor.h"
#include "base/random.h"
#include "support/per_worker.h"

namespace saddle::ops {

using backend::Context;
using backend::Tensor;
using num::Plane;
using tensor::View;

// Every plane of a view filled with normal numbers.
template <class S>
void randomize(Context& context, View<S> view, uint64_t seed, double spread = 1) {
  for (int p = 0; p < num::kPlanes<S>; ++p) {
    const RandomStream stream(seed, RandomPurpose::kTest, p);
    std::vector<Plane<S>> host(view.size());
    for (size_t i = 0; i < host.size(); ++i) {
      host[i] = static_cast<Plane<S>>(spread * stream.normal(i));
    }
    backend::copy_from_host<S>(context, host.data(), p, view);
  }
}

template <class S>
Tensor<S> random_tensor(Context& context, int64_t workers, int64_t rows, int64_t cols,
                        uint64_t seed, double spread = 1) {
  Tensor<S> tensor(context, workers, rows, cols);
  randomize<S>(context, tensor.view(), seed, spread);
  return tensor;
}

// All planes of a view, one after another.
template <class S>
std::vector<Plane<S>> numbers_of(Context& context, View<const S> view) {
  std::vector<Plane<S>> all;
  for (int p = 0; p < num::kPlanes<S>; ++p) {
    std::vector<Plane<S>> host(view.size());
    backend::copy_to_host<S>(context, view, p, host.data());
    all.insert(all.end(), host.begin(), host.end());
  }
  return all;
}

// Writes `values` ([workers][rows][cols] in order) into the first plane.
template <class S>
void set_values(Context& context, View<S> view, const std::vector<Plane<S>>& values) {
  backend::copy_from_host<S>(context, values.data(), 0, view);
}

// One number of a view, read from the device.
template <class S>
S number_at(Context& context, View<const S> view, int64_t worker, int64_t row, int64_t col) {
  const View<const S> one = view.worker_range(worker, 1).row_range(row, 1).column_range(col, 1);
  S number{};
  for (int p = 0; p < num::kPlanes<S>; ++p) {
    Plane<S> plane{};
    backend::copy_to_host<S>(context, one, p, &plane);
    num::NumberTraits<S>::set(number, p, plane);
  }
  return number;
}

// Writes one value.
template <class T>
void set_number(Context& context, View<T> view, int64_t worker, int64_t row, int64_t col, T value) {
  backend::copy_from_host<T>(context, &value, 0,
                             view.worker_range(worker, 1).row_range(row, 1).column_range(col, 1));
}

}  // namespace saddle::ops
