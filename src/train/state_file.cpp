#include "train/state_file.h"

#include <array>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "config/recipe.h"
#include "model/weights_file.h"

namespace saddle::train {
namespace {

constexpr const char* kMetadataKey = "saddle.state";

std::string worker_prefix(int64_t worker, int64_t workers) {
  return workers == 1 ? "" : fmt::format("worker-{:03}.", worker);
}

// The arenas of a state with the prefixes of their tensors, in the order of the file.
template <class T, class Trained>
auto parts(Trained& trained) {
  return std::array{std::pair{"", &trained.weights},
                    std::pair{"first_moment.", &trained.optimizer.first_moments()},
                    std::pair{"second_moment.", &trained.optimizer.second_moments()}};
}

std::string shown(const Json& recipe, const std::string& key) {
  return recipe.contains(key) ? recipe.at(key).dump() : "nothing";
}

}  // namespace

Json run_recipe(const config::Settings& settings, const std::string& data_identity,
                int64_t workers) {
  Json recipe = config::recipe(settings);
  recipe["data.identity"] = data_identity;
  recipe["workers"] = workers;
  return recipe;
}

template <class T>
void save_state(const Path& path, const RunState& state, const Json& recipe,
                const TrainedModel<T>& trained) {
  const char* dtype = std::is_same_v<T, float> ? "F32" : "F64";
  std::vector<model::TensorEntry> entries;
  for (int64_t n = 0; n < trained.workers(); ++n) {
    for (const auto& [prefix, arena] : parts<T>(trained)) {
      const std::string full = worker_prefix(n, trained.workers()) + prefix;
      for (model::TensorEntry& entry : model::arena_entries(arena->layout(), full, dtype)) {
        entries.push_back(std::move(entry));
      }
    }
  }
  const Json metadata = {
      {"version", kStateVersion}, {"counters", to_json(state)}, {"recipe", recipe}};
  model::SafetensorsWriter writer(path, std::move(entries), {{kMetadataKey, metadata.dump()}});
  for (int64_t n = 0; n < trained.workers(); ++n) {
    for (const auto& [prefix, arena] : parts<T>(trained)) {
      const std::string full = worker_prefix(n, trained.workers()) + prefix;
      model::write_arena<T, T>(writer, full, *arena, n);
    }
  }
  writer.commit();
  ++trained.counters.checkpoints;
}

StateFile::StateFile(const Path& path) : reader_(path) {
  const std::string where = path.string();
  const auto found = reader_.metadata().find(kMetadataKey);
  if (found == reader_.metadata().end()) {
    fail(ErrorKind::kData,
         "{}: expected the state of a run (metadata {}), but this file has none: training cannot "
         "go on from weights alone",
         where, kMetadataKey);
  }
  const Json metadata = parse_json(found->second, where);
  const Json version = metadata.is_object() ? metadata.value("version", Json()) : Json();
  if (version != kStateVersion) {
    fail(ErrorKind::kData, "{}: expected a state of version {}, found {}", where, kStateVersion,
         version.dump());
  }
  recipe_ = metadata.value("recipe", Json());
  if (!recipe_.is_object()) fail(ErrorKind::kData, "{}: the recipe is missing", where);
  state_ = run_state_from_json(metadata.value("counters", Json()), where);
}

void StateFile::check_recipe(const Json& recipe) const {
  const std::vector<std::string> fields = config::differing_fields(recipe, recipe_);
  if (fields.empty()) return;
  std::string list;
  for (const std::string& key : fields) {
    list += fmt::format("{}{} (expected {}, found {})", list.empty() ? "" : ", ", key,
                        shown(recipe, key), shown(recipe_, key));
  }
  fail(ErrorKind::kConfig, "{}: this state was made by another recipe: {}", path().string(), list);
}

template <class T>
void StateFile::load(TrainedModel<T>& trained) const {
  for (int64_t n = 0; n < trained.workers(); ++n) {
    for (const auto& [prefix, arena] : parts<T>(trained)) {
      model::read_arena<T>(reader_, worker_prefix(n, trained.workers()) + prefix, *arena, n);
    }
  }
}

#define SADDLE_INSTANTIATE(T)                                                                     \
  template void save_state<T>(const Path&, const RunState&, const Json&, const TrainedModel<T>&); \
  template void StateFile::load<T>(TrainedModel<T>&) const;
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::train
