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

auto progress_of(const StateFile& file) {
  return std::tuple(file.state().step, file.state().evaluated_epochs);
}

}  // namespace

std::unique_ptr<StateFile> open_resume_state(const std::string& resume, const Path& directory,
                                             Log& log) {
  if (resume.empty()) return nullptr;
  if (resume != kResumeAuto) return std::make_unique<StateFile>(resume);
  std::unique_ptr<StateFile> newest;
  std::string damaged;
  for (const Path& path : state_files(directory)) {
    try {
      auto file = std::make_unique<StateFile>(path);
      if (newest == nullptr || progress_of(*file) > progress_of(*newest)) newest = std::move(file);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;
      log.warn("not resuming from a damaged state: {}", error.what());
      damaged = error.what();
    }
  }
  if (newest == nullptr && !damaged.empty()) {
    fail(ErrorKind::kData, "{}: every state to resume from is damaged: {}", directory.string(),
         damaged);
  }
  return newest;
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
