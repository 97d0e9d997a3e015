// Where bytes written under a name go: links, devices and open descriptors.
#pragma once

#include "base/files.h"

namespace saddle {

struct WriteTarget {
  enum class Kind {
    kFile,        // an ordinary file, existing or not: replaced whole
    kDescriptor,  // open in this process already, under a name such as /dev/stdout
    kStream,      // a pipe, a terminal or another character device: written directly
  };
  Kind kind = Kind::kFile;
  Path path;            // with the links at its end followed
  int descriptor = -1;  // for kDescriptor
};

// What `path` stands for. A name of an open descriptor (/dev/stdout, /dev/fd/3, /proc/self/fd/3) is
// that descriptor, even if it is an ordinary file: replacing the file would separate it from what
// others write there. Errors: kIo for what cannot be written: a file that this process has no
// permission to write to, a directory, a socket, a block device, a descriptor that is open for
// reading only, a file that no longer has a name.
WriteTarget write_target(const Path& path);

}  // namespace saddle
