#include "train/state_note.h"

#include "base/error.h"

namespace saddle::train {
namespace {

constexpr const char* kMetadataKey = "saddle.state";

}  // namespace

std::map<std::string, std::string> to_metadata(const StateNote& note) {
  const Json json = {
      {"version", kStateVersion}, {"counters", to_json(note.state)}, {"recipe", note.recipe}};
  return {{kMetadataKey, json.dump()}};
}

StateNote state_note(const std::map<std::string, std::string>& metadata, std::string_view where) {
  const auto found = metadata.find(kMetadataKey);
  if (found == metadata.end()) {
    fail(ErrorKind::kData,
         "{}: expected the state of a run (metadata {}), but this file has none: training cannot "
         "continue from weights alone",
         where, kMetadataKey);
  }
  const Json json = parse_json(found->second, where);
  const Json version = json.is_object() ? json.value("version", Json()) : Json();
  if (version != kStateVersion) {
    fail(ErrorKind::kData, "{}: expected a state of version {}, found {}", where, kStateVersion,
         version.dump());
  }
  StateNote note;
  note.recipe = json.value("recipe", Json());
  if (!note.recipe.is_object()) fail(ErrorKind::kData, "{}: the recipe is missing", where);
  note.state = run_state_from_json(json.value("counters", Json()), where);
  return note;
}

}  // namespace saddle::train
