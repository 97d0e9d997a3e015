#include "model/stored_tensors.h"

#include <bit>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/json.h"

namespace saddle::model {
namespace {

constexpr const char* kFileName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";

// The tensors of the index: name -> file.
std::map<std::string, std::string> read_index(const Path& index) {
  const Json json = read_json(index);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object() ||
      json["weight_map"].empty()) {
    fail(ErrorKind::kData, "{}: expected an object weight_map with tensors", index.string());
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : json["weight_map"].items()) {
    const std::string text = file.is_string() ? file.get<std::string>() : "";
    if (text.empty() || text != Path(text).filename().string()) {
      fail(ErrorKind::kData, "{}: tensor {} is in {}, expected the name of a file in this folder",
           index.string(), name, file.dump());
    }
    files[name] = text;
  }
  return files;
}

}  // namespace

StoredTensors::StoredTensors(const Path& path) : where_(path.string()) {
  if (!std::filesystem::is_directory(path)) {
    open(path);
  } else if (std::filesystem::exists(path / kFileName)) {
    open(path / kFileName);
  } else if (std::filesystem::exists(path / kIndexName)) {
    open_listed(path, path / kIndexName);
  } else {
    fail(ErrorKind::kData,
         "'{}' contains neither {} nor {}; other weight formats are not supported", where_,
         kFileName, kIndexName);
  }
  for (size_t i = 0; i < readers_.size(); ++i) {
    for (const TensorEntry& entry : readers_[i].entries()) {
      const auto [at, is_new] = places_.insert({entry.name, {i, &entry}});
      if (!is_new) {
        fail(ErrorKind::kData, "{}: tensor {} is in both {} and {}", where_, entry.name,
             readers_[at->second.reader].path().filename().string(),
             readers_[i].path().filename().string());
      }
    }
  }
}

void StoredTensors::open(const Path& path) {
  readers_.emplace_back(path);
}

void StoredTensors::open_listed(const Path& folder, const Path& index) {
  const std::map<std::string, std::string> listed = read_index(index);
  std::set<std::string> files;
  for (const auto& [name, file] : listed) files.insert(file);
  for (const std::string& file : files) open(folder / file);
  for (const auto& [name, file] : listed) {
    for (const SafetensorsReader& reader : readers_) {
      if (reader.path().filename() == file && reader.find(name) == nullptr) {
        fail(ErrorKind::kData, "{}: tensor {} is not in {}", index.string(), name, file);
      }
    }
  }
}

std::vector<std::string> StoredTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

std::vector<std::string> StoredTensors::dtypes() const {
  std::set<std::string> types;
  for (const auto& [name, place] : places_) types.insert(place.entry->dtype);
  return {types.begin(), types.end()};
}

const TensorEntry* StoredTensors::find(const std::string& name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : place->second.entry;
}

const TensorEntry& StoredTensors::at(const std::string& name) const {
  const TensorEntry* entry = find(name);
  if (entry == nullptr) fail(ErrorKind::kData, "{}: tensor {} is missing", where_, name);
  return *entry;
}

std::vector<float> StoredTensors::read(const std::string& name) const {
  const TensorEntry& entry = at(name);
  const SafetensorsReader& reader = readers_[places_.at(name).reader];
  const int64_t count = entry.bytes / element_bytes(entry.dtype);
  std::vector<float> values(count);
  if (entry.dtype == "F32") {
    reader.read(entry, 0, count, values.data());
    return values;
  }
  if (entry.dtype != "F16" && entry.dtype != "BF16") {
    fail(ErrorKind::kData, "{}: tensor {} has type {}, expected F32, F16 or BF16", where_, name,
         entry.dtype);
  }
  std::vector<uint16_t> bits(count);
  reader.read(entry, 0, count, bits.data());
  const auto convert = entry.dtype == "F16" ? float_from_f16 : float_from_bf16;
  for (int64_t i = 0; i < count; ++i) values[i] = convert(bits[i]);
  return values;
}

float float_from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

float float_from_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = bits >> 10 & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  }
  if (exponent == 0) {  // zero, or a multiple of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

}  // namespace saddle::model
