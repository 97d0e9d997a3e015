// Whether a file can be written, asked before the work whose result it takes.
#pragma once

#include "base/files.h"

namespace saddle {

// An Error of kind kIo, as of AtomicFile, when `path` cannot be written. Makes a file beside it and
// removes it again; what is no ordinary file (a pipe, a terminal) is not touched.
void check_output_file(const Path& path);

}  // namespace saddle
