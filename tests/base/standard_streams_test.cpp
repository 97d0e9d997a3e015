#include "base/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "support/child_process.h"

namespace saddle {
namespace {

TEST(StandardStreams, NoFileOpenedLaterTakesTheirPlace) {
  for (int closed = 1; closed < 8; ++closed) {  // bit i: descriptor i
    ChildProcess child([closed] {
      for (int i = 0; i < 3; ++i) {
        if ((closed >> i & 1) != 0) ::close(i);
      }
      occupy_standard_streams();
      return ::open("/dev/null", O_RDWR) > STDERR_FILENO ? 0 : 1;
    });
    EXPECT_EQ(child.exit_status(), 0) << closed;
  }
}

TEST(StandardStreams, FailAsIfTheyWereClosed) {
  ChildProcess child([] {
    for (int i = 0; i < 3; ++i) ::close(i);
    occupy_standard_streams();
    char byte = 'x';
    if (::read(0, &byte, 1) >= 0 || errno != EBADF) return 1;
    for (int i = 1; i < 3; ++i) {
      if (::write(i, &byte, 1) >= 0 || errno != EBADF) return 2;
    }
    return 0;
  });
  EXPECT_EQ(child.exit_status(), 0);
}

TEST(StandardStreams, OpenOnesAreKept) {
  ChildProcess child([] {
    const int file = ::open("/dev/full", O_WRONLY);
    ::dup2(file, STDOUT_FILENO);
    ::close(STDIN_FILENO);
    occupy_standard_streams();
    return ::write(STDOUT_FILENO, "x", 1) < 0 && errno == ENOSPC ? 0 : 1;
  });
  EXPECT_EQ(child.exit_status(), 0);
}

}  // namespace
}  // namespace saddle
