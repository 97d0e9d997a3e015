#include "train/state_file.h"

#include <array>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "config/recipe.h"
#include "model/weights_file.h"

namespace saddle::train {
namespace {

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
  model::SafetensorsWriter writer(path, std::move(entries), to_metadata({state, recipe}));
  for (int64_t n = 0; n < trained.workers(); ++n) {
    for (const auto& [prefix, arena] : parts<T>(trained)) {
      const std::string full = worker_prefix(n, trained.workers()) + prefix;
      model::write_arena<T, T>(writer, full, *arena, n);
    }
  }
  writer.commit();
  ++trained.counters.checkpoints;
}

StateFile::StateFile(const Path& path)
    : reader_(path), note_(state_note(reader_.metadata(), path.string())) {}

void StateFile::check_recipe(const Json& recipe) const {
  const std::vector<std::string> fields = config::differing_fields(recipe, note_.recipe);
  if (fields.empty()) return;
  std::string list;
  for (const std::string& key : fields) {
    list += fmt::format("{}{} (expected {}, found {})", list.empty() ? "" : ", ", key,
                        shown(recipe, key), shown(note_.recipe, key));
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
