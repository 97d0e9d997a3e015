#include "base/log.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/system_error.h"
#include "base/text.h"

namespace saddle {
namespace {

constexpr double kTerminalInterval = 0.1;
constexpr std::string_view kClearLine = "\r\x1b[K";

// Writes all of `text`; false if the system refuses it.
bool write_text(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written =
        retry_interrupted([&] { return ::write(descriptor, text.data(), text.size()); });
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// The beginning of `line` that fits one row of the terminal: a wrapped line cannot be rewritten.
std::string_view fit_terminal(int descriptor, std::string_view line) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) < 0 || size.ws_col < 2) return line;
  size_t columns = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool begins_character = (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;
    if (begins_character && ++columns == size.ws_col) return line.substr(0, i);
  }
  return line;
}

class LogFile {
 public:
  explicit LogFile(Path path) : path_(std::move(path)) {
    descriptor_ = retry_interrupted(
        [&] { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666); });
    if (descriptor_ < 0) fail_system("open the log", path_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() { ::close(descriptor_); }

  // Returns the first failure as a message for people, and ignores later ones: work continues.
  std::optional<std::string> append(std::string_view line) {
    if (write_text(descriptor_, line)) return std::nullopt;
    const int code = errno;
    if (std::exchange(failed_, true)) return std::nullopt;
    return fmt::format("cannot write the log '{}': {}", path_.string(), system_error_text(code));
  }

 private:
  Path path_;
  int descriptor_ = -1;
  bool failed_ = false;
};

}  // namespace

struct Log::State {
  explicit State(int screen_descriptor)
      : screen(screen_descriptor), terminal(screen >= 0 && ::isatty(screen) == 1) {}

  void print(std::string_view text) {
    if (screen >= 0) write_text(screen, text);  // without standard error, failures are ignored
  }

  void clear_progress() {
    if (!std::exchange(progress_shown, false)) return;
    print(kClearLine);
    last_progress.reset();  // the next call draws it again
  }

  void show_progress() {
    if (terminal) {
      print(fmt::format("{}{}", kClearLine, fit_terminal(screen, progress_line)));
      progress_shown = true;
    } else {
      print(progress_line + "\n");
    }
    last_progress.emplace();
    progress_waits = false;
  }

  void finish_progress() {
    if (progress_waits) show_progress();
    if (std::exchange(progress_shown, false)) print("\n");
    progress_line.clear();
    last_progress.reset();
  }

  std::mutex mutex;
  int screen;  // descriptor, or -1
  bool terminal;
  std::deque<LogFile> files;
  std::string progress_line;
  bool progress_waits = false;  // progress_line is newer than the line shown
  bool progress_shown = false;  // the terminal's cursor is in a progress line
  std::optional<Stopwatch> last_progress;
};

Log::Log() : Log(std::make_unique<State>(STDERR_FILENO)) {}
Log::Log(std::unique_ptr<State> state) : state_(std::move(state)) {}
Log Log::silent() {
  return Log(std::make_unique<State>(-1));
}
Log::Log(Log&&) noexcept = default;

Log::~Log() {
  if (state_ != nullptr) state_->finish_progress();
}

void Log::add_file(const Path& path) {
  const std::lock_guard lock(state_->mutex);
  state_->files.emplace_back(path);
}

void Log::write(bool warning, const std::string& text) {
  const std::string message = printable(without_logins(text));
  const std::lock_guard lock(state_->mutex);
  state_->clear_progress();
  state_->print(fmt::format("{}{}\n", warning ? "warning: " : "", message));
  if (state_->files.empty()) return;
  const std::string line =
      fmt::format("{} {:7} {}\n", utc_timestamp(), warning ? "warning" : "info", message);
  for (LogFile& file : state_->files) {
    if (const auto failure = file.append(line)) {
      state_->print(fmt::format("warning: {}\n", printable(*failure)));
    }
  }
}

void Log::progress(std::string_view line) {
  const std::lock_guard lock(state_->mutex);
  state_->progress_line = printable(without_logins(line));
  state_->progress_waits = true;
  const double interval = state_->terminal ? kTerminalInterval : kPlainInterval;
  const bool due = !state_->last_progress || state_->last_progress->seconds() >= interval;
  if (due) state_->show_progress();
}

void Log::finish_progress() {
  const std::lock_guard lock(state_->mutex);
  state_->finish_progress();
}

}  // namespace saddle
