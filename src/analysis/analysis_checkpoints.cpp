#include "analysis/analysis_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <system_error>

#include "backend/context.h"
#include "backend/tensor.h"
#include "base/error.h"
#include "base/sha256.h"
#include "config/recipe.h"
#include "model/parameters.h"
#include "model/safetensors.h"
#include "model/weights_file.h"
#include "train/checkpoints.h"
#include "train/epochs.h"
#include "train/state_file.h"

namespace saddle::analysis {
namespace {

constexpr std::string_view kSuffix = ".safetensors";
constexpr int64_t kPieceBytes = int64_t{1} << 20;

// The names of the weight and state files in a directory, without their suffix, sorted.
std::vector<std::string> names_in(const Path& directory) {
  std::vector<std::string> names;
  std::error_code code;
  for (std::filesystem::directory_iterator at(directory, code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(".") && name.ends_with(kSuffix)) {
      names.push_back(name.substr(0, name.size() - kSuffix.size()));
    }
  }
  if (code) fail(ErrorKind::kIo, "cannot list '{}': {}", directory.string(), code.message());
  std::ranges::sort(names);
  return names;
}

std::string without_suffix(const std::string& name) {
  return name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
}

Path file_of(const Path& run, const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  return run / (without_suffix(name) + std::string(kSuffix));
}

// Whether a file was made by a run with the same recipe as this one. If the directory of the run
// does not give the identity of its token cache, the cache is not compared.
bool of_run(const Path& run, const config::Settings& settings, Json recipe) {
  const Path file = run / "environment.json";
  const Json environment =
      std::filesystem::exists(file_status(file)) ? read_json_object(file) : Json::object();
  const Json identity = environment.value("data_identity", Json());
  if (!identity.is_string()) recipe.erase("data.identity");
  Json expected =
      train::run_recipe(settings, identity.is_string() ? identity.get<std::string>() : "",
                        settings.decentralized.num_models);
  if (!identity.is_string()) expected.erase("data.identity");
  return config::differing_fields(expected, recipe).empty();
}

// Reads the progress of the run that a file notes; ignores notes of another run, whose epochs have
// no place in this one.
void read_note(const Path& run, const model::SafetensorsReader& reader,
               const config::Settings& settings, Checkpoint& checkpoint) {
  const train::EpochPlan plan(settings);
  const auto& metadata = reader.metadata();
  const std::string place = reader.path().string() + " (metadata)";
  try {
    if (const auto note = metadata.find("saddle.weights"); note != metadata.end()) {
      const Json json = parse_json(note->second, place);
      if (!json.contains("epoch")) return;  // exported or imported weights
      if (!of_run(run, settings, json.at("recipe"))) return;
      checkpoint.epoch = json_integer(json.at("epoch"));
      checkpoint.step = json_integer(json.at("step"));
      if (*checkpoint.epoch < 1 || *checkpoint.epoch > plan.epochs()) {
        fail(ErrorKind::kData, "{}: epoch {} is not one of the {} epochs of the run", place,
             *checkpoint.epoch, plan.epochs());
      }
      checkpoint.tokens = plan.tokens(plan.boundary(*checkpoint.epoch));
    } else if (metadata.contains("saddle.state")) {
      const train::StateFile state(reader.path());
      const Json json = parse_json(metadata.at("saddle.state"), place);
      if (!of_run(run, settings, json.at("recipe"))) return;
      checkpoint.step = state.state().step;
      checkpoint.epoch = plan.completed_epochs(state.state().position);
      checkpoint.tokens = plan.tokens(state.state().position);
    }
  } catch (const Json::exception& error) {
    fail(ErrorKind::kData, "{}: the note about the run is damaged: {}", place, error.what());
  }
}

void check_loads(const Path& file, const config::ModelSettings& model) {
  backend::Context context(1);
  backend::Arena<float> weights(context, model::Parameters(model).layout, 1);
  model::load_weights<float>(file, model, weights);
}

std::vector<std::string> expand(const Path& run, const std::vector<std::string>& names) {
  if (std::ranges::find(names, kAllCheckpoints) == names.end()) return names;
  if (names.size() > 1) {
    fail(ErrorKind::kUsage, "--checkpoints takes 'all' or names, found 'all' among {} names",
         names.size());
  }
  const std::regex weights("epoch-[0-9]+|final");
  const std::vector<std::string> there = names_in(run);
  std::vector<std::string> all;
  for (const std::string& name : there) {
    if (std::regex_match(name, weights)) all.push_back(name);
  }
  if (all.empty()) {
    fail(ErrorKind::kConfig,
         "'{}' holds no weights of an epoch and no final weights for --checkpoints all; it holds: "
         "{}",
         run.string(), there.empty() ? "no checkpoint" : fmt::format("{}", fmt::join(there, ", ")));
  }
  return all;
}

Json optional_json(const std::optional<int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json to_json(const Checkpoint& checkpoint) {
  return {{"names", checkpoint.names},
          {"weights_sha256", checkpoint.weights_sha256},
          {"epoch", optional_json(checkpoint.epoch)},
          {"step", optional_json(checkpoint.step)},
          {"tokens", optional_json(checkpoint.tokens)}};
}

bool add_what_is_new(const Checkpoint& checkpoint, Json& known) {
  const Json before = known;
  for (const std::string& name : checkpoint.names) {
    Json& names = known["names"];
    if (std::ranges::find(names, Json(name)) == names.end()) names.push_back(name);
  }
  const Json now = to_json(checkpoint);
  if (known["tokens"].is_null()) {
    for (const char* key : {"epoch", "step", "tokens"}) known[key] = now[key];
  }
  return known != before;
}

std::string weights_sha256(const Path& file, const config::ModelSettings& model) {
  const model::SafetensorsReader reader(file);
  Sha256 hash;
  std::vector<char> piece;
  const tensor::Layout layout = model::Parameters(model).layout;
  for (const tensor::Slot& slot : layout.slots()) {
    const model::TensorEntry* entry = reader.find(slot.name);
    if (entry == nullptr) {
      fail(ErrorKind::kData, "{}: tensor {} is missing", file.string(), slot.name);
    }
    const std::string head =
        fmt::format("{}\n{}\n{}\n", entry->name, entry->dtype, fmt::join(entry->shape, ","));
    hash.update(head.data(), head.size());
    const int64_t size = model::element_bytes(entry->dtype);
    const int64_t count = entry->bytes / size;
    for (int64_t first = 0; first < count; first += kPieceBytes / size) {
      const int64_t part = std::min(kPieceBytes / size, count - first);
      piece.resize(static_cast<size_t>(part * size));
      reader.read(*entry, first, part, piece.data());
      hash.update(piece.data(), piece.size());
    }
  }
  return hash.hex();
}

void check_unchanged(const HashedWeights& weights, const config::ModelSettings& model) {
  const std::string now = weights_sha256(weights.file, model);
  if (now == weights.sha256) return;
  fail(ErrorKind::kData,
       "'{}' changed during the analysis (weights_sha256: at the start {}, now {}): use a file "
       "that nothing writes to",
       weights.file.string(), weights.sha256, now);
}

Checkpoint find_checkpoint(const Path& run, const config::Settings& settings,
                           const std::string& name) {
  Checkpoint checkpoint;
  checkpoint.file = file_of(run, name);
  if (!std::filesystem::exists(file_status(checkpoint.file))) {
    const std::vector<std::string> there = names_in(run);
    fail(ErrorKind::kConfig, "there is no checkpoint '{}' ('{}'); '{}' holds: {}", name,
         checkpoint.file.string(), run.string(),
         there.empty() ? "no checkpoint" : fmt::format("{}", fmt::join(there, ", ")));
  }
  check_loads(checkpoint.file, settings.model);
  checkpoint.names = {without_suffix(name)};
  checkpoint.weights_sha256 = weights_sha256(checkpoint.file, settings.model);
  read_note(run, model::SafetensorsReader(checkpoint.file), settings, checkpoint);
  return checkpoint;
}

std::vector<Checkpoint> find_checkpoints(const Path& run, const config::Settings& settings,
                                         const std::vector<std::string>& names) {
  std::vector<Checkpoint> checkpoints;
  for (const std::string& name : expand(run, names)) {
    const Checkpoint found = find_checkpoint(run, settings, name);
    const auto same =
        std::ranges::find(checkpoints, found.weights_sha256,
                          [](const Checkpoint& known) { return known.weights_sha256; });
    if (same == checkpoints.end()) {
      checkpoints.push_back(found);
      continue;
    }
    if (std::ranges::find(same->names, found.names[0]) == same->names.end()) {
      same->names.push_back(found.names[0]);
    }
    if (!same->tokens) {
      same->epoch = found.epoch;
      same->step = found.step;
      same->tokens = found.tokens;
    }
  }
  if (checkpoints.empty()) fail(ErrorKind::kUsage, "--checkpoints names no checkpoint");
  return checkpoints;
}

void find_workers(const Path& run, const config::Settings& settings, Checkpoint& checkpoint) {
  // If a name is a path, its workers are next to its own file. Joining an absolute path to the
  // directory of the run would give the average itself.
  const auto file_of_worker = [&](const std::string& name, int64_t worker) {
    const Path average =
        name == checkpoint.names[0] ? checkpoint.file : file_of(run, name + std::string(kSuffix));
    return average.parent_path() / fmt::format("node-{:03}", worker) / average.filename();
  };
  std::string name = checkpoint.names[0];
  for (const std::string& other : checkpoint.names) {
    if (!std::filesystem::exists(file_status(file_of_worker(other, 0)))) continue;
    name = other;
    break;
  }
  std::string hashes;
  checkpoint.workers.clear();
  for (int64_t worker = 0; worker < settings.decentralized.num_models; ++worker) {
    const Path file = file_of_worker(name, worker);
    if (!std::filesystem::exists(file_status(file))) {
      fail(ErrorKind::kConfig,
           "the weights of worker {} at {} ('{}') are missing: to do without them, use "
           "--no-consensus",
           worker, name, file.string());
    }
    check_loads(file, settings.model);
    checkpoint.workers.push_back({file, weights_sha256(file, settings.model)});
    hashes += checkpoint.workers.back().sha256;
  }
  checkpoint.workers_sha256 = sha256_hex(hashes);
}

}  // namespace saddle::analysis
