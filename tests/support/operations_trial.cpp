#include "support/operations_trial.h"

#include <algorithm>
#include <complex>

#include "base/random.h"
#include "ops/cross_entropy_row.h"
#include "support/per_worker.h"

namespace saddle::operations {

Values draw(const Slots& slots, int64_t workers, int64_t first_worker, uint64_t seed,
            bool centered) {
  Values values;
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    const Slot& at = slots[slot];
    std::vector<double>& tensor = values.emplace_back();
    tensor.reserve(workers * at.rows * at.cols);
    for (int64_t n = first_worker; n < first_worker + workers; ++n) {
      const RandomStream stream(seed, RandomPurpose::kTest, slot * 1000 + n);
      for (int64_t i = 0; i < at.rows * at.cols; ++i) {
        tensor.push_back((centered ? 0 : at.mean) + at.spread * stream.normal(i));
      }
    }
  }
  return values;
}

std::vector<int32_t> draw_indices(Indices kind, const Sizes& sizes, int64_t first_worker) {
  std::vector<int32_t> indices;
  for (int64_t n = first_worker; n < first_worker + sizes.workers; ++n) {
    const RandomStream stream(7, RandomPurpose::kTest, n);
    for (int64_t m = 0; m < sizes.rows(); ++m) {
      auto index = static_cast<int32_t>(stream.below(m, sizes.vocabulary));
      if (m == sizes.rows() - 1) index = static_cast<int32_t>(sizes.vocabulary) - 1;
      if (m == 0) index = 0;
      if (kind == Indices::kTargets && m % 4 == 2 && m != sizes.rows() - 1) {
        index = kIgnoredTarget;
      }
      indices.push_back(index);
    }
  }
  return indices;
}

std::vector<double> draw_weights(const Sizes& sizes, int64_t first_worker) {
  std::vector<double> weights;
  for (int64_t n = 0; n < sizes.workers; ++n) {
    weights.push_back(0.75 + 0.5 * static_cast<double>(first_worker + n));
  }
  return weights;
}

Values weights_as_adjoints(const std::vector<double>& weights, int64_t rows) {
  Values values(1);
  for (const double weight : weights) values[0].insert(values[0].end(), rows, weight);
  return values;
}

namespace {

template <class N>
std::vector<std::vector<N>> part_of(const std::vector<std::vector<N>>& values, int64_t workers,
                                    int64_t n) {
  std::vector<std::vector<N>> part;
  for (const std::vector<N>& tensor : values) {
    const auto size = static_cast<int64_t>(tensor.size()) / workers;
    part.emplace_back(tensor.begin() + n * size, tensor.begin() + (n + 1) * size);
  }
  return part;
}

}  // namespace

Values worker_part(const Values& values, int64_t workers, int64_t n) {
  return part_of(values, workers, n);
}

template <class N>
std::vector<std::vector<N>> plain_outputs(const Operation& operation, const Sizes& sizes,
                                          const std::vector<std::vector<N>>& in,
                                          int64_t first_worker, bool over_float) {
  const Slots slots = operation.outputs(sizes);
  const std::vector<double> weights = draw_weights(sizes, first_worker);
  std::vector<std::vector<N>> outputs(slots.size());
  for (int64_t n = 0; n < sizes.workers; ++n) {
    Sizes one = sizes;
    one.workers = 1;
    Plain<N> plain{one, draw_indices(operation.indices, one, first_worker + n), weights[n], {}, {}};
    plain.in = part_of(in, sizes.workers, n);
    for (const Slot& slot : slots) plain.out.emplace_back(slot.rows * slot.cols);
    if constexpr (std::is_same_v<N, double>) {
      (over_float ? operation.plain_float : operation.plain)(plain);
    } else {
      operation.plain_complex(plain);
    }
    for (size_t i = 0; i < slots.size(); ++i) {
      outputs[i].insert(outputs[i].end(), plain.out[i].begin(), plain.out[i].end());
    }
  }
  return outputs;
}

template Values plain_outputs<double>(const Operation&, const Sizes&, const Values&, int64_t, bool);
template std::vector<std::vector<std::complex<double>>> plain_outputs<std::complex<double>>(
    const Operation&, const Sizes&, const std::vector<std::vector<std::complex<double>>>&, int64_t,
    bool);

template <class S>
Trial<S>::Trial(Context& context, const Operation& operation, const Sizes& sizes,
                TrialOptions options)
    : operation_(operation),
      options_(options),
      run_{context, sizes, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}},
      indices_(context, sizes.workers, sizes.rows(), 1),
      weights_(per_worker(context, draw_weights(sizes, options.first_worker))),
      commit_(per_worker(context, {1.0})) {
  run_.in = allocate(operation.inputs(sizes), Fill::kZero);
  run_.out = allocate(operation.outputs(sizes), Fill::kGarbage);
  run_.saved = allocate(operation.saved(sizes), Fill::kGarbage);
  if (operation.over<S>().adjoint != nullptr) {
    run_.d_in = allocate(operation.inputs(sizes), Fill::kByGradient);
    run_.d_out = allocate(operation.outputs(sizes), Fill::kZero);
  }
  for (const Slot& slot : operation.constants(sizes)) {
    run_.constants.push_back(constants_.emplace_back(context, 1, slot.rows, slot.cols).view());
  }
  run_.indices = indices_.view();
  backend::copy_from_host<int32_t>(
      context, draw_indices(operation.indices, sizes, options.first_worker).data(), 0,
      run_.indices);
  run_.weights = weights_.view();
  run_.commit = commit_.view();
}

template <class S>
std::vector<View<S>> Trial<S>::allocate(const Slots& slots, Fill fill) {
  const int64_t margin = options_.strided ? kMargin : 0;
  const auto write = [&](View<S> view, double value) {
    const std::vector<Plane<S>> host(view.size(), static_cast<Plane<S>>(value));
    for (int p = 0; p < num::kPlanes<S>; ++p) {
      backend::copy_from_host<S>(run_.context, host.data(), p, view);
    }
  };
  std::vector<View<S>> views;
  for (const Slot& slot : slots) {
    const View<S> all = tensors_
                            .emplace_back(run_.context, run_.sizes.workers, slot.rows + margin,
                                          slot.cols + 2 * margin)
                            .view();
    if (options_.strided) write(all, std::numeric_limits<double>::quiet_NaN());
    const View<S> view = all.row_range(0, slot.rows).column_range(margin, slot.cols);
    const bool accumulated = fill == Fill::kByGradient && slot.gradient == Gradient::kAccumulated;
    const double value = fill == Fill::kZero ? 0
                         : accumulated       ? options_.accumulated
                                             : options_.garbage;
    if (options_.strided || value != 0) write(view, value);
    views.push_back(view);
  }
  return views;
}

template <class S>
void Trial<S>::set(const std::vector<View<S>>& views, int plane, const Values& values) const {
  for (size_t i = 0; i < views.size(); ++i) {
    const std::vector<Plane<S>> host(values[i].begin(), values[i].end());
    backend::copy_from_host<S>(run_.context, host.data(), plane, views[i]);
  }
}

template <class S>
Values Trial<S>::get(const std::vector<View<S>>& views, int plane) const {
  Values values;
  for (const View<S>& view : views) {
    std::vector<Plane<S>> host(view.size());
    backend::copy_to_host<S>(run_.context, view, plane, host.data());
    values.emplace_back(host.begin(), host.end());
  }
  return values;
}

template <class S>
void Trial<S>::forward() {
  operation_.over<S>().prepare(run_);
  operation_.over<S>().forward(run_);
}

template <class S>
void Trial<S>::adjoint() {
  operation_.over<S>().prepare_adjoint(run_);
  operation_.over<S>().adjoint(run_);
}

template <class S>
bool Trial<S>::margins_untouched() const {
  const auto untouched = [&](View<const S> margin) {
    for (int p = 0; p < num::kPlanes<S>; ++p) {
      std::vector<Plane<S>> host(margin.size());
      backend::copy_to_host<S>(run_.context, margin, p, host.data());
      if (!std::all_of(host.begin(), host.end(), [](Plane<S> x) { return std::isnan(x); })) {
        return false;
      }
    }
    return true;
  };
  for (const backend::Tensor<S>& tensor : tensors_) {
    const View<S> all = tensor.view();
    if (!untouched(all.column_range(0, kMargin))) return false;
    if (!untouched(all.column_range(all.cols() - kMargin, kMargin))) return false;
    if (!untouched(all.row_range(all.rows() - kMargin, kMargin))) return false;
  }
  return true;
}

template class Trial<float>;
template class Trial<double>;
template class Trial<num::Dual<float>>;
template class Trial<num::Dual<double>>;
template class Trial<num::Jet<float>>;
template class Trial<num::Jet<double>>;

}  // namespace saddle::operations
