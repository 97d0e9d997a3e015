// Where messages for people go. A Log is passed to whatever has something to say; nothing else in
// the library writes to the terminal. Each message is one line: what a terminal would act on, such
// as the control characters of a file's name, is written as printable() has it.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"

namespace saddle {

// Its members may be called from several threads.
class Log {
 public:
  // Writes to standard error, and from add_file() on to a file as well (appended, time-stamped).
  Log();
  // A log that writes nothing but to files that are added, for tests and for library use.
  static Log silent();
  Log(Log&&) noexcept;
  ~Log();

  // The file must be there to open; when writing to it fails later, standard error is told once and
  // work goes on.
  void add_file(const Path& path);

  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    write(false, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    write(true, fmt::format(format, std::forward<Args>(args)...));
  }

  // The state of long work. On a terminal one line that is rewritten in place (at most ten times a
  // second); elsewhere a plain line at most every `kPlainInterval` seconds. Not written to files.
  void progress(std::string_view line);
  // Ends the progress line, keeping what it last said.
  void finish_progress();

  static constexpr double kPlainInterval = 10.0;

 private:
  struct State;
  explicit Log(std::unique_ptr<State> state);
  void write(bool warning, const std::string& text);
  std::unique_ptr<State> state_;
};

}  // namespace saddle
