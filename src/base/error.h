// The one exception type of saddle. The library never prints, exits or aborts: it throws an Error
// whose message says what was expected, what was found and where; the program prints that line and
// returns the exit code of the kind (docs/exit-codes.md).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace saddle {

enum class ErrorKind {
  kUsage,     // the command line is wrong
  kConfig,    // a setting is wrong, or a file was made with other settings
  kData,      // an input file is damaged or does not fit
  kIo,        // the operating system refused to read, write or lock
  kNumeric,   // a number that must be finite is not
  kDevice,    // this machine cannot run what was requested
  kInternal,  // a fault of saddle itself
};

class Error : public std::runtime_error {
 public:
  // printable() makes the message one line: it may quote text from outside.
  Error(ErrorKind kind, std::string_view message);
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// Throws an Error whose message is the formatted text.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace saddle
