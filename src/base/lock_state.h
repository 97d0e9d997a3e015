// Whether somebody holds a lock (FileLock in files.h), for who only looks.
#pragma once

#include "base/files.h"

namespace saddle {

// Whether another process (or another FileLock of this one) holds the lock now. False when there is
// no file at `path`, or it cannot be opened. A FileLock that is taken during the look waits for it.
bool is_locked(const Path& path);

}  // namespace saddle
