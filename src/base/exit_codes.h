// How the program ends: docs/exit-codes.md says what to do about each code.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"

namespace saddle {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitStopped = 75;  // by a signal, with the work so far saved

// The exit code of a kind of error.
int exit_code(ErrorKind kind);

// The kind of error whose code a process returned; kInternal when it is none of them.
ErrorKind error_kind(int code);

struct ExitCode {
  int code;
  std::string_view name;
};

// Every code that the program returns, ascending.
std::vector<ExitCode> exit_codes();

}  // namespace saddle
