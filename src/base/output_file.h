// Whether a file can be written, checked before the work whose result goes into it.
#pragma once

#include "base/files.h"

namespace saddle {

// An Error of kind kIo, as from AtomicFile, if `path` cannot be written. Creates a temporary file
// in the same directory and removes it; special files (a pipe, a terminal) are not touched.
void check_output_file(const Path& path);

// An Error of kind kConfig if `path` is an existing file or directory, for outputs that replace
// nothing. A link without a target, an open descriptor and a pipe are fine. kIo as above.
void check_new_file(const Path& path);

}  // namespace saddle
