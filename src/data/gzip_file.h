// Whether a file is gzip data.
#pragma once

#include <string>

#include "base/files.h"

namespace saddle::data {

// What is wrong with the first bytes of a file that must be gzip data: "expected gzip data, found
// "<!DOCTYPE html> ..." (the login page of a network?)". Empty if they are.
std::string gzip_beginning_fault(const Path& path);

// The same for the whole file, which is decompressed.
std::string gzip_fault(const Path& path);

}  // namespace saddle::data
