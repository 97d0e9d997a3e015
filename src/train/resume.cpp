#include "train/resume.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "train/checkpoints.h"

namespace saddle::train {
namespace {

// In the order of their names, so that nothing depends on the file system.
std::vector<Path> state_files(const Path& directory) {
  std::vector<Path> files;
  std::error_code code;
  for (std::filesystem::directory_iterator at(directory, code), end; !code && at != end;
       at.increment(code)) {
    if (at->path().filename().string().ends_with(kStateSuffix)) files.push_back(at->path());
  }
  if (code) fail(ErrorKind::kIo, "cannot list '{}': {}", directory.string(), code.message());
  std::ranges::sort(files);
  return files;
}

auto progress_of(const RunState& state) {
  return std::tuple(state.step, state.evaluated_epochs);
}

// The file's state, or null if it is damaged; `damage` then says how.
std::unique_ptr<StateFile> open_unless_damaged(const Path& path, std::string& damage) {
  try {
    return std::make_unique<StateFile>(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    damage = error.what();
    return nullptr;
  }
}

Path superseded_name(const Path& path) {
  const std::string base = path.string() + ".superseded";
  std::string name = base;
  for (int i = 2; std::filesystem::exists(file_status(name)); ++i) {
    name = fmt::format("{}-{}", base, i);
  }
  return name;
}

}  // namespace

std::unique_ptr<StateFile> open_resume_state(const std::string& resume, const Path& directory,
                                             Log& log) {
  if (resume.empty()) return nullptr;
  if (resume != kResumeAuto) return std::make_unique<StateFile>(resume);
  std::unique_ptr<StateFile> newest;
  std::string damaged;
  for (const Path& path : state_files(directory)) {
    auto file = open_unless_damaged(path, damaged);
    if (file == nullptr) {
      log.warn("not resuming from a damaged state: {}", damaged);
    } else if (newest == nullptr || progress_of(file->state()) > progress_of(newest->state())) {
      newest = std::move(file);
    }
  }
  if (newest == nullptr && !damaged.empty()) {
    fail(ErrorKind::kData, "{}: every state to resume from is damaged: {}", directory.string(),
         damaged);
  }
  return newest;
}

void supersede_later_states(const RunState& state, const Path& directory, Log& log) {
  for (const Path& path : state_files(directory)) {
    std::string damage;
    const auto file = open_unless_damaged(path, damage);
    if (file == nullptr || progress_of(file->state()) <= progress_of(state)) continue;
    const Path name = superseded_name(path);
    std::error_code code;
    std::filesystem::rename(path, name, code);
    if (code) {
      fail(ErrorKind::kIo, "cannot rename '{}' to '{}': {}", path.string(), name.string(),
           code.message());
    }
    flush_directory(directory);
    log.info("{} is {} updates ahead of the point from which the run continues: kept as {}",
             path.string(), file->state().step - state.step, name.filename().string());
  }
}

void check_counters(const StateFile& file, const EpochPlan& plan) {
  const RunState& state = file.state();
  const int64_t updates = plan.updates_at(state.position);
  const int64_t completed = updates < 0 ? 0 : plan.completed_epochs(state.position);
  const bool evaluated = state.evaluated_epochs == completed ||
                         (completed > 0 && state.evaluated_epochs == completed - 1 &&
                          plan.boundary(completed) == state.position);
  if (updates < 0 || updates != state.step || !evaluated) {
    fail(ErrorKind::kData,
         "{}: the counters do not fit the settings: {} updates, {} blocks, {} evaluations, while "
         "the plan of the run has {} updates and {} epochs at {} blocks",
         file.path().string(), state.step, state.position, state.evaluated_epochs, updates,
         completed, state.position);
  }
}

}  // namespace saddle::train
