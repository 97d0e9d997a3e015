// Files of weights, their notes, and what Hugging Face's Transformers writes next to them.
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/json.h"
#include "fuzz/targets.h"
#include "model/hugging_face.h"
#include "model/model_note.h"
#include "model/safetensors.h"
#include "model/stored_tensors.h"
#include "train/state_note.h"

namespace saddle::fuzz {
namespace {

// A whole file with the tensor "a", for an index to name.
constexpr std::string_view kShard(
    "\x38\0\0\0\0\0\0\0"
    R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  )"
    "\0\0\x80\x3f",
    8 + 56 + 4);

void check_notes(const std::map<std::string, std::string>& metadata) {
  accepts([&] { model::noted_model(metadata, "a file"); });
  train::StateNote note;
  if (!accepts([&] { note = train::state_note(metadata, "a file"); })) return;
  const train::StateNote again = train::state_note(train::to_metadata(note), "written");
  require(train::to_json(again.state) == train::to_json(note.state) && again.recipe == note.recipe,
          "the note of a state does not read back as it was written");
}

// The first and the last element of each tensor can be read, and the tensors fill the file.
void check_tensors(const model::SafetensorsReader& reader) {
  std::array<char, 8> element{};
  int64_t next = 0;
  for (const model::TensorEntry& entry : reader.entries()) {
    require(next == 0 || entry.offset == next, "tensors overlap or leave a gap");
    next = entry.offset + entry.bytes;
    require(reader.find(entry.name) == &entry, "a tensor is not found by its name");
    const int64_t count = entry.bytes / model::element_bytes(entry.dtype);
    for (const int64_t i : {int64_t{0}, count - 1}) {
      if (count > 0) reader.read(entry, i, 1, element.data());
    }
  }
}

}  // namespace

void safetensors(std::string_view bytes, Scratch& scratch) {
  const Path path = scratch.write("a.safetensors", bytes);
  accepts([&] {
    const model::SafetensorsReader reader(path);
    check_tensors(reader);
    check_notes(reader.metadata());
    const model::StoredTensors stored(path);
    for (const std::string& name : stored.names()) accepts([&] { stored.read(name); });
  });
}

void weight_index(std::string_view bytes, Scratch& scratch) {
  scratch.write("a.safetensors", kShard);
  scratch.write("model.safetensors.index.json", bytes);
  accepts([&] {
    const model::StoredTensors stored(scratch.directory());
    require(stored.names() == std::vector<std::string>{"a"} && stored.read("a").at(0) == 1.0F,
            "an index of one file gave other tensors");
  });
}

void state_note(std::string_view bytes, Scratch&) {
  for (const char* key : {"saddle.weights", "saddle.state"}) {
    check_notes({{key, std::string(bytes)}});
  }
}

void hugging_face(std::string_view bytes, Scratch&) {
  config::ModelSettings found;
  const auto read = [&] {
    found = model::settings_from_hugging_face(parse_json(bytes, "config.json"), "config.json");
  };
  if (!accepts(read)) return;
  const Json written = model::hugging_face_config(found, nullptr);
  require(model::settings_from_hugging_face(written, "written") == found,
          "a config.json does not read back as it was written");
}

}  // namespace saddle::fuzz
