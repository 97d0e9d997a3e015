// Turns a failed system call into an Error of kind kIo.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace saddle {

// Throws "cannot ACTION 'PATH': REASON" for the errno value `code`.
[[noreturn]] inline void fail_system(std::string_view action, const Path& path, int code = errno) {
  fail(ErrorKind::kIo, "cannot {} '{}': {}", action, path.string(),
       std::generic_category().message(code));
}

// Repeats a system call that a signal interrupted.
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace saddle
