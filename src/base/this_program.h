// The program that is running, for starting it again. Its file may be replaced meanwhile, as by a
// build: the system still has the program, under /proc.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"

namespace saddle {

// Opens as the program that is running, whatever its path leads to now.
inline constexpr const char* kRunningProgram = "/proc/self/exe";

// run_process() of the program that is running, with `words` as its arguments.
ProcessResult run_this_program(const std::vector<std::string>& words, ProcessOptions options);

// Whether the file is this program: the same file, or one of the same bytes.
bool is_this_program(const Path& path);

// The path of this program, for those who start it later. Errors: kConfig when this program is not
// there any more.
Path path_of_this_program();

}  // namespace saddle
