#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/files.h"
#include "support/child_process.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

TEST(FileLock, IsRefusedWithinTheProcessAndFreeAfterwards) {
  const TemporaryDirectory directory;
  std::optional<FileLock> lock(std::in_place, directory / "lock", "first");
  expect_error(ErrorKind::kIo,
               {"second is refused", (directory / "lock").string(),
                "process " + std::to_string(::getpid()), "(first)"},
               [&] { FileLock(directory / "lock", "second"); });
  FileLock moved(std::move(*lock));
  lock.reset();
  expect_error(ErrorKind::kIo, {"refused"}, [&] { FileLock(directory / "lock", "third"); });
  { const FileLock taken(std::move(moved)); }
  EXPECT_NO_THROW(FileLock(directory / "lock", "fourth"));
  EXPECT_TRUE(std::filesystem::exists(directory / "lock"));
}

TEST(FileLock, WaitsForASharedLock) {
  const TemporaryDirectory directory;
  { const FileLock made(directory / "lock", "first"); }
  const int descriptor = ::open((directory / "lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(descriptor, LOCK_SH | LOCK_NB), 0);
  std::thread looking([descriptor] {
    ::usleep(20'000);
    ::close(descriptor);
  });
  EXPECT_NO_THROW(FileLock(directory / "lock", "second"));
  looking.join();
}

TEST(FileLock, NamesOnlyItsCurrentHolder) {
  const TemporaryDirectory directory;
  { const FileLock lock(directory / "lock", std::string(300, 'x')); }
  const FileLock lock(directory / "lock", "short");
  const std::string line = read_file(directory / "lock");
  EXPECT_EQ(line.find('x'), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("(short)\n")) << line;
}

TEST(FileLock, OfAChildIsRefusedAndEndsWithItsDeath) {
  const TemporaryDirectory directory;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ChildProcess child([&] {
    const FileLock lock(directory / "lock", "prepare");
    if (::write(ends[1], "L", 1) != 1) return 1;
    while (true) ::pause();
    return 0;
  });
  ::close(ends[1]);
  char ready = 0;
  ASSERT_EQ(::read(ends[0], &ready, 1), 1) << "the child did not take the lock";
  ::close(ends[0]);
  expect_error(ErrorKind::kIo, {"process " + std::to_string(child.id()), "(prepare)"},
               [&] { FileLock(directory / "lock", "train"); });
  child.kill(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(child.wait()));
  EXPECT_NO_THROW(FileLock(directory / "lock", "train"));
}

TEST(FileLock, IsNotInheritedByOtherPrograms) {
  const TemporaryDirectory directory;
  std::optional<FileLock> lock(std::in_place, directory / "lock", "first");
  ChildProcess child([] { return ::execl("/bin/sleep", "sleep", "30", nullptr); });
  // The child releases the lock in exec, some time after the fork.
  lock.reset();
  std::string last;
  for (int attempt = 0; attempt < 500; ++attempt) {
    try {
      const FileLock again(directory / "lock", "second");
      return;
    } catch (const Error& error) {
      last = error.what();
      ::usleep(10000);
    }
  }
  ADD_FAILURE() << last;
}

}  // namespace
}  // namespace saddle
