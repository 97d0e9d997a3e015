// The descriptors 0, 1 and 2, which a caller may have closed.
#pragma once

namespace saddle {

// Opens /dev/null on those of the descriptors 0, 1 and 2 that are closed, so that no file that is
// opened later gets one of them and receives what is meant for standard output. To be called before
// any file is opened. Using such a stream still fails with EBADF.
void occupy_standard_streams();

}  // namespace saddle
