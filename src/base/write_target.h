// Where the bytes go that are written under a name: links, devices and open descriptors.
#pragma once

#include "base/files.h"

namespace saddle {

struct WriteTarget {
  enum class Kind {
    kFile,        // an ordinary file, there or not: replaced whole
    kDescriptor,  // one that this process has open already, under a name such as /dev/stdout
    kStream,      // a pipe, a terminal or another character device: written straight
  };
  Kind kind = Kind::kFile;
  Path path;            // with the links at its end followed
  int descriptor = -1;  // of kDescriptor
};

// What `path` stands for. A name of an open descriptor (/dev/stdout, /dev/fd/3, /proc/self/fd/3) is
// that descriptor, also when it is an ordinary file: replacing the file would take it away from
// under what else is written there. Errors: kIo for what cannot be written: a directory, a socket,
// a block device, a descriptor that is open for reading alone, a file that has no name any more.
WriteTarget write_target(const Path& path);

}  // namespace saddle
