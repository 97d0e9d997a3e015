#include "analysis/results_directory.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "analysis/analysis_identity.h"
#include "analysis/results_summary.h"
#include "base/clock.h"
#include "base/error.h"
#include "curvature/case_json.h"

namespace saddle::analysis {
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kSummary = "summary.csv";
constexpr const char* kLock = "lock";

// Creates the directory before the lock in it is taken.
const Path& made(const Path& path) {
  make_directories(path);
  return path;
}

// Refuses a directory with other contents before anything is written to it.
void check_usable(const Path& directory) {
  if (!std::filesystem::is_directory(file_status(directory))) return;
  const std::vector<std::string> names = names_in_directory(directory);
  if (std::ranges::find(names, kManifest) != names.end()) {
    const Json json = read_json(directory / kManifest);
    if (json.is_object() && json.value("format", Json()) == kAnalysisFormat) return;
    fail(ErrorKind::kConfig, "'{}' is the manifest of something else: choose a new --output",
         (directory / kManifest).string());
  }
  for (const std::string& name : names) {
    // A process that was killed before it wrote the manifest may leave these.
    if (name == kLock || name.starts_with(".")) continue;
    fail(ErrorKind::kConfig, "'{}' holds something else ('{}'): choose a new --output",
         directory.string(), name);
  }
}

const Path& usable(const Path& directory) {
  check_usable(directory);
  return made(directory);
}

// The name of the file of a checkpoint's case. If the checkpoint's name is a path, its last part
// alone would not be unique.
std::string file_name(const Checkpoint& checkpoint, curvature::DataCaseKind kind) {
  std::string name = checkpoint.names[0];
  if (name.find('/') != std::string::npos) {
    name = Path(name).filename().string() + "-" + checkpoint.weights_sha256.substr(0, 8);
  }
  return fmt::format("{}.{}.json", name, curvature::data_case_name(kind));
}

}  // namespace

ResultsDirectory::ResultsDirectory(const Path& path, const Path& run, Json identity)
    : path_(usable(path)),
      run_(std::filesystem::absolute(run).lexically_normal()),
      identity_(std::move(identity)),
      lock_(path / kLock, fmt::format("analysis into '{}'", path.string())) {
  remove_unfinished_files(path_);
  files_ = read_case_files(path_);
  const Path manifest = path_ / kManifest;
  // Before the first result there is nothing to mix with other settings.
  if (!files_.empty() && std::filesystem::exists(file_status(manifest))) {
    AnalysisManifest before = read_analysis_manifest(manifest);
    check_same_identity(identity_, before.identity, manifest.string());
    records_ = std::move(before.records);
  }
  write_tables();
}

Json ResultsDirectory::case_identity(const Checkpoint& checkpoint,
                                     const curvature::DataCase& data) const {
  Json identity = identity_;
  identity["case.weights_sha256"] = checkpoint.weights_sha256;
  identity["case.data"] = data.describe();
  if (!checkpoint.workers.empty()) identity["case.workers_sha256"] = checkpoint.workers_sha256;
  return identity;
}

CaseFile* ResultsDirectory::find(const Checkpoint& checkpoint, curvature::DataCaseKind kind) {
  CaseFile* found = nullptr;
  for (CaseFile& file : files_) {
    if (file.content["case"] != curvature::data_case_name(kind)) continue;
    const Json& known = file.content["checkpoint"];
    if (known["weights_sha256"] == checkpoint.weights_sha256) {
      found = &file;
      continue;
    }
    for (const std::string& name : checkpoint.names) {
      if (std::ranges::find(known["names"], Json(name)) == known["names"].end()) continue;
      fail(ErrorKind::kConfig,
           "'{}' holds results of other weights under the name {} (weights_sha256: there {}, now "
           "{}); choose a new --output",
           file.path.string(), name, known["weights_sha256"].get<std::string>(),
           checkpoint.weights_sha256);
    }
  }
  return found;
}

bool ResultsDirectory::has(const Checkpoint& checkpoint, const curvature::DataCase& data) {
  CaseFile* file = find(checkpoint, data.kind());
  if (file == nullptr) return false;
  check_same_identity(case_identity(checkpoint, data), file->content["identity"],
                      file->path.string());
  if (add_what_is_new(checkpoint, file->content["checkpoint"])) {
    write_json(file->path, file->content);
    write_tables();
  }
  return true;
}

void ResultsDirectory::write(const Checkpoint& checkpoint, const curvature::DataCase& data,
                             const curvature::CaseResult& result, double seconds,
                             const Json& about) {
  const Path file = path_ / file_name(checkpoint, data.kind());
  Json content = {{"format", kAnalysisFormat},
                  {"checkpoint", to_json(checkpoint)},
                  {"case", curvature::data_case_name(data.kind())}};
  content.update(to_json(result));
  content["identity"] = case_identity(checkpoint, data);
  write_json(file, content);
  files_.push_back({file, std::move(content)});
  Json record = {{"finished", utc_timestamp()}, {"seconds", json_number(seconds)}};
  record.update(about);
  records_[file.filename().string()] = record;
  write_tables();
}

void ResultsDirectory::take(const ResultsDirectory& other) {
  check_same_identity(identity_, other.identity_, (other.path_ / kManifest).string());
  for (const auto& [file, content] : other.files_) {
    const std::string name = file.filename().string();
    const auto here = std::ranges::find_if(
        files_, [&name](const CaseFile& known) { return known.path.filename().string() == name; });
    if (here != files_.end()) continue;
    write_file_atomically(path_ / name, read_file(file));
    files_.push_back({path_ / name, content});
    records_[name] = other.records_.value(name, Json::object());
  }
  write_tables();
}

void ResultsDirectory::write_tables() {
  sort_case_files(files_);
  Json cases = Json::array(), checkpoints = Json::array(), contents = Json::array();
  for (const auto& [file, content] : files_) {
    const std::string name = file.filename().string();
    Json entry = {{"file", name},
                  {"case", content["case"]},
                  {"weights_sha256", content["checkpoint"]["weights_sha256"]}};
    // A case has no record if its process was killed right after writing it.
    entry.update(records_.value(name, Json::object()));
    cases.push_back(entry);
    const auto same = std::ranges::find_if(checkpoints, [&](const Json& checkpoint) {
      return checkpoint["weights_sha256"] == entry["weights_sha256"];
    });
    if (same == checkpoints.end()) checkpoints.push_back(content["checkpoint"]);
    contents.push_back(content);
  }
  write_json(path_ / kManifest, {{"format", kAnalysisFormat},
                                 {"run", run_.string()},
                                 {"identity", identity_},
                                 {"checkpoints", checkpoints},
                                 {"cases", cases}});
  write_file_atomically(path_ / kSummary, summary_csv(contents));
}

Json ResultsDirectory::cases(const Path& path) {
  Json contents = Json::array();
  for (CaseFile& file : read_case_files(path)) contents.push_back(std::move(file.content));
  return contents;
}

}  // namespace saddle::analysis
