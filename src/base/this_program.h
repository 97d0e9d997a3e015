// The running program, for starting it again. A build may have replaced its file meanwhile: the
// system still has the program, under /proc.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"

namespace saddle {

// Opens as the running program, whatever its path leads to now.
inline constexpr const char* kRunningProgram = "/proc/self/exe";

// run_process() for the running program, with `words` as its arguments.
ProcessResult run_this_program(const std::vector<std::string>& words, ProcessOptions options);

// Whether the file is this program: the same file, or one with the same bytes.
bool is_this_program(const Path& path);

// The path of this program, for starting it later. Errors: kConfig if this program is no longer
// there.
Path path_of_this_program();

}  // namespace saddle
