// gnuplot as a child process.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace saddle::curvature {

// Runs `gnuplot ARGUMENTS` in `directory` and waits for it. Errors: kDevice when there is no
// gnuplot, with the package that has it, or when it fails, with what it said; kIo when no process
// can be started.
void run_gnuplot(const Path& directory, const std::vector<std::string>& arguments);

}  // namespace saddle::curvature
