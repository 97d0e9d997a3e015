// Runs the program as a user would.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "base/files.h"
#include "support/temporary_directory.h"

namespace saddle {

struct ProgramResult {
  int exit_code = -1;  // -1: ended by a signal
  std::string output;  // standard output
  std::string errors;  // standard error
};

// `arguments` as typed in a shell after "saddle"; they may contain redirections.
inline ProgramResult run_saddle(const std::string& arguments) {
  const TemporaryDirectory directory;
  const std::string output = directory / "output";
  const std::string errors = directory / "errors";
  const std::string command =
      std::string("{ '" SADDLE_PROGRAM "' ") + arguments + "; } >" + output + " 2>" + errors;
  const int status = std::system(command.c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .output = read_file(output),
          .errors = read_file(errors)};
}

}  // namespace saddle
