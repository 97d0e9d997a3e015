// The descriptors 0, 1 and 2, which a caller may have closed.
#pragma once

namespace saddle {

// Fills those of the descriptors 0, 1 and 2 that are closed, so that no file that is opened later
// gets one of them and then takes what is meant for standard output. To be called before anything
// is opened. Reading standard input and writing to the others still fails with EBADF there.
void occupy_standard_streams();

}  // namespace saddle
