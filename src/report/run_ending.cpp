#include "report/run_ending.h"

#include <filesystem>
#include <sstream>

#include "base/lock_state.h"

namespace saddle::report {
namespace {

// Words in the lines that training logs when it begins and ends (train/trainer.cpp).
constexpr std::string_view kBegins = " parameters, ";
constexpr std::string_view kFails = "training ended after ";
constexpr std::string_view kStops = ": stopping after ";

// The part of a line after its time and kind.
std::string_view message_of(std::string_view line) {
  constexpr size_t kBefore = 29;  // 2026-01-31T12:00:00Z warning
  return line.size() > kBefore ? line.substr(kBefore) : std::string_view();
}

// The ending of the last part of a run, according to the log.
RunEnding logged_ending(const Path& log) {
  const RunEnding silent{Status::kStopped,
                         "ended without a message: killed, or the machine went down"};
  RunEnding ending = silent;
  if (!std::filesystem::is_regular_file(file_status(log))) return ending;
  std::istringstream text(read_file(log));
  for (std::string line; std::getline(text, line);) {
    const std::string_view message = message_of(line);
    if (message.starts_with(kFails)) {
      ending = {Status::kFailed, std::string(message)};
    } else if (message.starts_with("signal ") && message.find(kStops) != std::string_view::npos) {
      ending = {Status::kStopped, std::string(message)};
    } else if (message.find(kBegins) != std::string_view::npos) {
      ending = silent;  // a new part begins here
    }
  }
  return ending;
}

}  // namespace

RunEnding run_ending(const Path& directory) {
  if (std::filesystem::exists(file_status(directory / "result.json"))) {
    return {Status::kFinished, ""};
  }
  if (is_locked(directory / "lock")) return {Status::kRunning, ""};
  return logged_ending(directory / "run.log");
}

}  // namespace saddle::report
