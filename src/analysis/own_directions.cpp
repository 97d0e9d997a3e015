#include "analysis/own_directions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/sha256.h"
#include "model/parameters.h"
#include "model/weights_file.h"

namespace saddle::analysis {
namespace {

// load_weights() also accepts a state file, which holds more than one direction.
void check_no_extra(const Path& file, const tensor::Layout& layout) {
  const model::SafetensorsReader reader(file);
  for (const model::TensorEntry& entry : reader.entries()) {
    if (layout.find(entry.name) != nullptr) continue;
    fail(ErrorKind::kData,
         "{}: tensor {} is not one of this model: a direction holds the tensors of the weights "
         "alone",
         file.string(), entry.name);
  }
}

template <class T>
bool is_zero(const backend::Arena<T>& arena) {
  const std::vector<T> values = backend::to_host<T>(arena.context(), arena.all());
  return std::ranges::all_of(values, [](T x) { return x == 0; });
}

template <class T>
void check_finite(const std::string& direction, const backend::Arena<T>& arena) {
  for (int slot = 0; slot < static_cast<int>(arena.layout().slots().size()); ++slot) {
    for (const T x : backend::to_host<T>(arena.context(), arena.view(slot))) {
      if (std::isfinite(x)) continue;
      fail(ErrorKind::kData, "the direction {} holds {} in tensor {}: a finite number was expected",
           direction, x, arena.layout().slots()[static_cast<size_t>(slot)].name);
    }
  }
}

template <class T>
curvature::NamedDirection<T> from_file(const HashedWeights& found, const std::string& name,
                                       const config::ModelSettings& model) {
  return {name, [found, model](backend::Arena<T>& directions, int64_t lane) {
            model::read_arena<T>(model::SafetensorsReader(found.file), "", directions, lane);
            check_unchanged(found, model);
          }};
}

template <class T>
curvature::NamedDirection<T> difference(const HashedWeights& a, const HashedWeights& b,
                                        const std::string& name,
                                        const config::ModelSettings& model) {
  return {name, [a, b, model](backend::Arena<T>& directions, int64_t lane) {
            backend::Context context(1);
            const tensor::Layout layout = model::Parameters(model).layout;
            backend::Arena<double> from(context, layout, 1), to(context, layout, 1);
            model::load_weights<double>(a.file, model, from);
            model::load_weights<double>(b.file, model, to);
            check_unchanged(a, model);
            check_unchanged(b, model);
            for (int slot = 0; slot < static_cast<int>(layout.slots().size()); ++slot) {
              const std::vector<double> begin = backend::to_host<double>(context, from.view(slot));
              const std::vector<double> end = backend::to_host<double>(context, to.view(slot));
              std::vector<T> values(begin.size());
              for (size_t i = 0; i < values.size(); ++i) {
                values[i] = static_cast<T>(end[i] - begin[i]);
              }
              backend::copy_from_host<T>(context, values.data(), 0,
                                         directions.view(slot).worker_range(lane, 1));
            }
          }};
}

std::string name_of(const Path& file) {
  const std::string name = file.filename().string();
  constexpr std::string_view kEnding = ".safetensors";
  return name.ends_with(kEnding) ? name.substr(0, name.size() - kEnding.size()) : name;
}

}  // namespace

template <class T>
CheckedDirections<T> own_directions(backend::Context& context, const Path& run,
                                    const config::Settings& settings,
                                    const std::vector<Path>& files,
                                    const std::vector<std::array<std::string, 2>>& between) {
  CheckedDirections<T> checked;
  const auto add = [&](curvature::NamedDirection<T> direction, const std::string& sha256) {
    for (const DirectionIdentity& known : checked.identities) {
      if (known.name != direction.name) continue;
      fail(ErrorKind::kConfig, "two directions are named '{}': give their files different names",
           direction.name);
    }
    checked.identities.push_back({direction.name, sha256});
    checked.directions.push_back(std::move(direction));
  };
  const tensor::Layout layout = model::Parameters(settings.model).layout;
  for (const Path& file : files) {
    backend::Arena<T> values(context, layout, 1);
    model::load_weights<T>(file, settings.model, values);
    check_no_extra(file, layout);
    if (is_zero(values)) {
      fail(ErrorKind::kData, "{}: every number of the direction is zero", file.string());
    }
    const HashedWeights found = {file, weights_sha256(file, settings.model)};
    add(from_file<T>(found, name_of(file), settings.model), found.sha256);
  }
  for (const auto& [a, b] : between) {
    const Checkpoint from = find_checkpoint(run, settings, a);
    const Checkpoint to = find_checkpoint(run, settings, b);
    const std::string name = fmt::format("{} to {}", from.names[0], to.names[0]);
    curvature::NamedDirection<T> direction = difference<T>(
        {from.file, from.weights_sha256}, {to.file, to.weights_sha256}, name, settings.model);
    backend::Arena<T> values(context, layout, 1);
    direction.write(values, 0);
    check_finite(name, values);
    if (is_zero(values)) {
      fail(ErrorKind::kData, "the weights of {} and {} are the same: their difference is zero", a,
           b);
    }
    add(std::move(direction), sha256_hex(from.weights_sha256 + to.weights_sha256));
  }
  return checked;
}

template <class T>
std::vector<curvature::NamedDirection<T>> consensus_errors(const config::ModelSettings& model,
                                                           const Checkpoint& checkpoint) {
  std::vector<curvature::NamedDirection<T>> errors;
  const HashedWeights average = {checkpoint.file, checkpoint.weights_sha256};
  for (const HashedWeights& worker : checkpoint.workers) {
    errors.push_back(
        difference<T>(average, worker, fmt::format("worker {}", errors.size()), model));
  }
  return errors;
}

#define SADDLE_INSTANTIATE(T)                                                            \
  template CheckedDirections<T> own_directions<T>(                                       \
      backend::Context&, const Path&, const config::Settings&, const std::vector<Path>&, \
      const std::vector<std::array<std::string, 2>>&);                                   \
  template std::vector<curvature::NamedDirection<T>> consensus_errors<T>(                \
      const config::ModelSettings&, const Checkpoint&);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::analysis
