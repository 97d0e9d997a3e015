// Whether a lock (FileLock in files.h) is held, without taking it.
#pragma once

#include "base/files.h"

namespace saddle {

// Whether another process (or another FileLock of this one) holds the lock now. False if there is
// no file at `path`, or it cannot be opened. A FileLock taken during this check waits for it.
bool is_locked(const Path& path);

}  // namespace saddle
