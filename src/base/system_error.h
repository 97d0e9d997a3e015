// Turns a failed system call into an Error of kind kIo.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace saddle {

// The text of the errno value, with an explanation for EFBIG, whose cause is easy to miss.
inline std::string system_error_text(int code) {
  const std::string text = std::generic_category().message(code);
  if (code != EFBIG) return text;
  return text + " (over the limit of this process, ulimit -f, or of the file system)";
}

// Throws "cannot ACTION 'PATH': REASON" for the errno value `code`.
[[noreturn]] inline void fail_system(std::string_view action, const Path& path, int code = errno) {
  fail(ErrorKind::kIo, "cannot {} '{}': {}", action, path.string(), system_error_text(code));
}

// Repeats a system call that a signal interrupted.
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace saddle
