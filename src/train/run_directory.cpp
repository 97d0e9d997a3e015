#include "train/run_directory.h"

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "config/load.h"
#include "train/libraries.h"

namespace saddle::train {
namespace {

bool belongs_to_run(const std::string& name) {
  return name == "resolved.yaml" || name == "metrics.jsonl" || name.ends_with(".safetensors");
}

// The directory is made before the lock in it is taken.
const Path& made(const Path& path) {
  make_directories(path);
  return path;
}

}  // namespace

RunDirectory::RunDirectory(const Path& path)
    : path_(made(path)),
      lock_(path / "lock", fmt::format("training in runtime.output_dir '{}'", path.string())) {
  remove_unfinished_files(path_);
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const bool node = entry.path().filename().string().starts_with("node-");
    if (node && entry.is_directory()) remove_unfinished_files(entry.path());
  }
}

std::string RunDirectory::used_by() const {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (belongs_to_run(name)) return name;
  }
  return {};
}

void RunDirectory::write_records(const config::Settings& settings, int threads,
                                 const Path& resumed_from, const std::string& data_identity) const {
  write_file_atomically(file("resolved.yaml"), config::to_yaml(settings));
  Json environment = {{"started", utc_timestamp()},
                      {"started_in", std::filesystem::current_path().string()},
                      {"resumed_from", nullptr},
                      {"device", "cpu"},
                      {"threads", threads},
                      {"data_identity", data_identity},
                      {"build", build_description()},
                      {"libraries", library_versions()},
                      {"machine", machine_description()}};
  if (!resumed_from.empty()) environment["resumed_from"] = resumed_from.string();
  write_json(file("environment.json"), environment);
}

}  // namespace saddle::train
