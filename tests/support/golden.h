// Reference values of small models, made by an independent program in float64 (tests/data/golden):
// token losses, logits, gradients, Hessian-vector products, and weights after one AdamW update.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/settings.h"
#include "model/parameters.h"
#include "model/safetensors.h"
#include "model/weights_file.h"

namespace saddle::golden {

struct Case {
  std::string name;
  config::ModelSettings model;
  Json scalars;
  int64_t sequences = 0;
  std::vector<int32_t> inputs, targets;

  Path directory() const { return Path(SADDLE_SOURCE_DIR) / "tests/data/golden" / name; }
  int64_t valid_targets() const { return scalars["valid_targets"].get<int64_t>(); }
};

inline Case load(const std::string& name) {
  Case result;
  result.name = name;
  result.scalars = read_json(result.directory() / "scalars.json");
  const Json& config = result.scalars["config"];
  result.model.vocab_size = config["vocab_size"];
  result.model.layers = config["layers"];
  result.model.width = config["width"];
  result.model.heads = config["heads"];
  result.model.ffn_width = config["ffn_width"];
  result.model.context_length = config["context_length"];
  result.model.norm_eps = config["norm_eps"];
  result.model.rope_theta = config["rope_theta"];

  const model::SafetensorsReader batch(result.directory() / "batch.safetensors");
  const auto read = [&](const char* tensor) {
    const model::TensorEntry* entry = batch.find(tensor);
    std::vector<int64_t> stored(entry->shape[0] * entry->shape[1]);
    batch.read(*entry, 0, static_cast<int64_t>(stored.size()), stored.data());
    result.sequences = entry->shape[0];
    return std::vector<int32_t>(stored.begin(), stored.end());
  };
  result.inputs = read("inputs");
  result.targets = read("targets");
  return result;
}

// A tensor of expected.safetensors.
inline std::vector<double> expected(const Case& golden, const std::string& tensor) {
  const model::SafetensorsReader file(golden.directory() / "expected.safetensors");
  const model::TensorEntry* entry = file.find(tensor);
  if (entry == nullptr) throw std::runtime_error("no expected value " + tensor);
  std::vector<double> values(entry->bytes / 8);
  file.read(*entry, 0, static_cast<int64_t>(values.size()), values.data());
  return values;
}

// The tensors named prefix + canonical name of all parameters, in the canonical order.
inline std::vector<double> expected_parameters(const Case& golden, const std::string& prefix) {
  std::vector<double> all;
  const model::Parameters parameters(golden.model);
  for (const tensor::Slot& slot : parameters.layout.slots()) {
    const std::vector<double> part = expected(golden, prefix + slot.name);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// One plane of a worker's parameters in host memory, in the canonical order, without padding.
template <class S>
std::vector<double> parameters_to_host(const backend::Arena<S>& arena, int plane = 0,
                                       int64_t worker = 0) {
  std::vector<double> all;
  for (size_t i = 0; i < arena.layout().slots().size(); ++i) {
    const tensor::View<S> view = arena.view(static_cast<int>(i)).worker_range(worker, 1);
    std::vector<num::Plane<S>> host(view.size());
    backend::copy_to_host<S>(arena.context(), view, plane, host.data());
    all.insert(all.end(), host.begin(), host.end());
  }
  return all;
}

template <class S>
void parameters_from_host(const std::vector<double>& all, backend::Arena<S>& arena, int plane = 0,
                          int64_t worker = 0) {
  size_t next = 0;
  for (size_t i = 0; i < arena.layout().slots().size(); ++i) {
    const tensor::View<S> view = arena.view(static_cast<int>(i)).worker_range(worker, 1);
    std::vector<num::Plane<S>> host(view.size());
    for (auto& x : host) x = static_cast<num::Plane<S>>(all.at(next++));
    backend::copy_from_host<S>(arena.context(), host.data(), plane, view);
  }
}

// Copies the golden weights to every worker.
template <class S>
void load_weights(const Case& golden, backend::Context& context, backend::Arena<S>& arena) {
  backend::Arena<double> values(context, arena.layout(), 1);
  model::load_weights(golden.directory() / "weights.safetensors", golden.model, values);
  for (int64_t n = 0; n < arena.workers(); ++n) {
    parameters_from_host(parameters_to_host(values), arena, 0, n);
  }
}

// ||a - b|| / ||b||
inline double relative_l2(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference += (a.at(i) - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace saddle::golden
