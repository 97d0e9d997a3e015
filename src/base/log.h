// Messages for people. A Log is passed to whatever has something to report; nothing else in the
// library writes to the terminal. Each message is one line: characters that a terminal would act
// on, such as control characters in a file's name, are escaped by printable().
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
  // Writes to standard error, and after add_file() to a file as well (appended, with time stamps).
  Log();
  // A log that writes only to files that are added, for tests and for library use.
  static Log silent();
  Log(Log&&) noexcept;
  ~Log();

  // Creates or opens the file; an error if that fails. If a later write fails, one warning goes to
  // standard error and work continues.
  void add_file(const Path& path);

  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    write(false, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    write(true, fmt::format(format, std::forward<Args>(args)...));
  }

  // The progress of long work. On a terminal, one line that is rewritten in place (at most ten
  // times a second); elsewhere, a plain line at most every `kPlainInterval` seconds. Not written to
  // files.
  void progress(std::string_view line);
  // Ends the progress line, leaving its last text on the screen.
  void finish_progress();

  static constexpr double kPlainInterval = 10.0;

 private:
  struct State;
  explicit Log(std::unique_ptr<State> state);
  void write(bool warning, const std::string& text);
  std::unique_ptr<State> state_;
};

}  // namespace saddle
