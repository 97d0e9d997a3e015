#include "base/files.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "support/child_process.h"
#include "support/directory_contents.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

// The content, read without the code under test.
std::string slurp(const Path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Files, WritesAndReadsBack) {
  const TemporaryDirectory directory;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{3000000}}) {
    std::string content(size, '\0');
    for (size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 31);
    write_file_atomically(directory / "file", content);
    EXPECT_EQ(slurp(directory / "file"), content);
    EXPECT_EQ(read_file(directory / "file"), content);
  }
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"file"});
}

TEST(Files, ReadsFilesWhoseSizeTheSystemDoesNotKnow) {
  EXPECT_NE(read_file("/proc/self/status").find("Pid:"), std::string::npos);
}

TEST(Files, ErrorsNameThePathAndTheReason) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "x");
  const Path below = directory / "file" / "below";
  expect_error(ErrorKind::kIo, {(directory / "none").string(), "No such file"},
               [&] { read_file(directory / "none"); });
  expect_error(ErrorKind::kIo, {directory.path().string(), "Is a directory"},
               [&] { read_file(directory.path()); });
  expect_error(ErrorKind::kIo, {below.string(), "Not a directory"},
               [&] { write_file_atomically(below, "x"); });
  expect_error(ErrorKind::kIo, {below.string(), "Not a directory"},
               [&] { make_directories(below); });
  expect_error(ErrorKind::kIo, {(directory / "file").string(), "Not a directory"},
               [&] { make_directories(directory / "file"); });
  expect_error(ErrorKind::kIo, {below.string(), "Not a directory"},
               [&] { FileLock(below, "work"); });
  expect_error(ErrorKind::kIo, {"''"}, [] { AtomicFile{Path{}}; });
  expect_error(ErrorKind::kIo, {"Is a directory"}, [&] { AtomicFile{Path("somewhere/")}; });
}

TEST(Files, ReportsTheTypeOfAPath) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(std::filesystem::is_directory(file_status(directory.path())));
  EXPECT_FALSE(std::filesystem::exists(file_status(directory / "none")));
  std::filesystem::create_symlink(directory.path(), directory / "link");
  EXPECT_TRUE(std::filesystem::is_directory(file_status(directory / "link")));
  const Path too_long = directory / std::string(300, 'x');
  expect_error(ErrorKind::kIo, {too_long.string(), "File name too long"},
               [&] { file_status(too_long); });
}

TEST(Files, RemovesOnlyWhatKilledWritersLeft) {
  const TemporaryDirectory directory;
  ChildProcess child([&] {
    AtomicFile file(directory / "weights.safetensors");
    file.write("half");
    return ::raise(SIGKILL);
  });
  child.wait();
  ASSERT_EQ(names_in(directory.path()).size(), 1U);
  const std::set<std::string> others = {".a.tmp-12-",   ".a.tmp-x-0",   "a.tmp-12-0",
                                        ".tmp-1-1",     ".a.tmp-12-0b", ".directory.tmp-1-1",
                                        ".link.tmp-1-1"};
  for (const std::string& name : others) {
    if (name.starts_with(".directory")) {
      make_directories(directory / name);
    } else if (name.starts_with(".link")) {
      std::filesystem::create_symlink(directory / "a.tmp-12-0", directory / name);
    } else {
      write_file_atomically(directory / name, "mine");
    }
  }
  remove_unfinished_files(directory.path());
  const std::vector<std::string> left = names_in(directory.path());
  EXPECT_EQ(std::set<std::string>(left.begin(), left.end()), others);
}

TEST(Files, RefusesADirectoryThatCannotBeWritten) {
  const TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
  make_directories(directory / "closed");
  std::filesystem::permissions(directory / "closed", std::filesystem::perms::owner_read |
                                                         std::filesystem::perms::owner_exec);
  ChildProcess child([&] {
    constexpr uid_t kNobody = 65534;  // root may write everywhere
    if (::geteuid() == 0 && ::seteuid(kNobody) < 0) return 50;
    try {
      write_file_atomically(directory / "closed" / "file", "x");
      return 1;
    } catch (const Error& error) {
      const std::string message = error.what();
      return error.kind() == ErrorKind::kIo && message.find("Permission denied") < message.size()
                 ? 0
                 : 2;
    }
  });
  const int status = child.exit_status();
  if (status == 50) GTEST_SKIP() << "root may write everywhere and the user cannot be changed here";
  EXPECT_EQ(status, 0);
}

TEST(Files, MakesDirectoriesWithParents) {
  const TemporaryDirectory directory;
  make_directories(directory / "a" / "b" / "c");
  EXPECT_TRUE(std::filesystem::is_directory(directory / "a" / "b" / "c"));
  make_directories(directory / "a" / "b");
}

TEST(AtomicFile, AppearsOnlyWithCommit) {
  const TemporaryDirectory directory;
  AtomicFile file(directory / "file");
  file.write("one ");
  file.write("two");
  EXPECT_EQ(file.size(), 7);
  EXPECT_FALSE(std::filesystem::exists(directory / "file"));
  file.commit();
  EXPECT_EQ(slurp(directory / "file"), "one two");
  expect_error(ErrorKind::kInternal, {"committed twice"}, [&] { file.commit(); });
  expect_error(ErrorKind::kInternal, {"after commit"}, [&] { file.write("x"); });
}

TEST(AtomicFile, LeavesTheOldContentAndNothingElseWithoutCommit) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "old");
  {
    AtomicFile file(directory / "file");
    file.write(std::string(3000000, 'n'));
  }
  EXPECT_EQ(slurp(directory / "file"), "old");
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"file"});
}

TEST(AtomicFile, KeepsTheModeOfTheFileThatItReplaces) {
  const TemporaryDirectory directory;
  for (const char* mode : {"600", "664", "755"}) {
    const auto wanted = static_cast<std::filesystem::perms>(std::stoi(mode, nullptr, 8));
    write_file_atomically(directory / mode, "old");
    std::filesystem::permissions(directory / mode, wanted);
    write_file_atomically(directory / mode, "new");
    EXPECT_EQ(read_file(directory / mode), "new");
    EXPECT_EQ(file_status(directory / mode).permissions(), wanted) << mode;
  }
}

TEST(AtomicFile, KeepsTheOwnerOfTheFileThatRootReplaces) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "old");
  if (::chown((directory / "file").c_str(), 12345, 12346) != 0) GTEST_SKIP() << "not root";
  write_file_atomically(directory / "file", "new");
  struct stat after {};
  ASSERT_EQ(::stat((directory / "file").c_str(), &after), 0);
  EXPECT_EQ(after.st_uid, 12345U);
  EXPECT_EQ(after.st_gid, 12346U);
}

// Root may write everywhere, so another user tries.
TEST(AtomicFile, DoesNotReplaceAFileThatMayNotBeWritten) {
  const TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
  constexpr uid_t kNobody = 65534;
  ChildProcess child([&] {
    if (::geteuid() == 0 && ::seteuid(kNobody) < 0) return 50;
    write_file_atomically(directory / "file", "old");
    std::filesystem::permissions(directory / "file", std::filesystem::perms::owner_read);
    try {
      write_file_atomically(directory / "file", "new");
      return 1;
    } catch (const Error& error) {
      const std::string message = error.what();
      return message.find("Permission denied") < message.size() ? 0 : 2;
    }
  });
  const int status = child.exit_status();
  if (status == 50) GTEST_SKIP() << "root may write everywhere and the user cannot be changed here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(directory / "file"), "old");
}

TEST(AtomicFile, LeavesTheOldContentWhenTheProcessIsKilled) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "old");
  ChildProcess child([&] {
    AtomicFile file(directory / "file");
    file.write(std::string(3000000, 'n'));
    return ::raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(child.wait()));
  EXPECT_EQ(slurp(directory / "file"), "old");
}

TEST(AtomicFile, TwoOfOneNameDoNotCollide) {
  const TemporaryDirectory directory;
  AtomicFile first(directory / "file");
  AtomicFile second(directory / "file");
  first.write("first");
  second.write("second");
  first.commit();
  EXPECT_EQ(slurp(directory / "file"), "first");
  second.commit();
  EXPECT_EQ(slurp(directory / "file"), "second");
}

TEST(AtomicFile, BuffersSmallAndLargeWritesInOrder) {
  const TemporaryDirectory directory;
  std::string expected;
  AtomicFile file(directory / "file");
  for (size_t i = 0; i < 400; ++i) {
    // Sizes around the buffer of 1 MiB, and many small ones.
    const size_t size = i % 100 == 99 ? (size_t{1} << 20) - 1 + i / 100 : i * 37 % 5000;
    const std::string piece(size, static_cast<char>('a' + i % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(file.size(), static_cast<int64_t>(expected.size()));
  EXPECT_TRUE(slurp(directory / "file") == expected);
}

// Tries to replace "old" in `directory` by 1 MiB; 0 if that fails with `reason` and keeps "old".
int try_to_overfill(const Path& directory, const std::string& reason) {
  write_file_atomically(directory / "file", "old");
  try {
    write_file_atomically(directory / "file", std::string(size_t{1} << 20, 'n'));
    return 1;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) return 2;
    if (std::string(error.what()).find(reason) == std::string::npos) return 3;
  }
  if (slurp(directory / "file") != "old") return 4;
  return names_in(directory) == std::vector<std::string>{"file"} ? 0 : 5;
}

TEST(AtomicFile, KeepsTheOldContentOnAFullDisk) {
  const TemporaryDirectory directory;
  constexpr int kNoMount = 50;
  ChildProcess child([&] {
    // A small file system that only this child sees.
    const int flags = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (::unshare(flags) < 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ||
        ::mount("none", directory.path().c_str(), "tmpfs", 0, "size=64k") < 0) {
      return kNoMount;
    }
    return try_to_overfill(directory.path(), "No space left on device");
  });
  const int status = child.exit_status();
  if (status == kNoMount) GTEST_SKIP() << "a small file system cannot be mounted here";
  EXPECT_EQ(status, 0);
}

TEST(AtomicFile, KeepsTheOldContentAtTheFileSizeLimit) {
  const TemporaryDirectory directory;
  ChildProcess child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{65536, 65536};
    if (::setrlimit(RLIMIT_FSIZE, &limit) < 0) return 50;
    return try_to_overfill(directory.path(), "File too large");
  });
  EXPECT_EQ(child.exit_status(), 0);
}

TEST(InputFile, ReadsAtOffsets) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "0123456789");
  InputFile moved_from(directory / "file");
  const InputFile file(std::move(moved_from));
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(file.path(), directory / "file");
  std::string bytes(4, '\0');
  file.read_at(6, bytes.data(), 4);
  EXPECT_EQ(bytes, "6789");
  file.read_at(10, bytes.data(), 0);
  expect_error(ErrorKind::kIo, {"expected 4 bytes at offset 7, found 3"},
               [&] { file.read_at(7, bytes.data(), 4); });
  expect_error(ErrorKind::kIo, {"Invalid argument"}, [&] { file.read_at(-1, bytes.data(), 1); });
}

TEST(InputFile, ReadsBeyondFourGigabytes) {
  const TemporaryDirectory directory;
  const int64_t end = (int64_t{5} << 30) + 3;
  {
    std::ofstream stream(directory / "file", std::ios::binary);
    stream.seekp(end - 3);
    stream << "end";
    stream.flush();
    if (!stream) GTEST_SKIP() << "a sparse file of 5 GiB cannot be created here";
  }
  const InputFile file(directory / "file");
  EXPECT_EQ(file.size(), end);
  std::string bytes(4, '?');
  file.read_at(end - 4, bytes.data(), 4);
  EXPECT_EQ(bytes, std::string("\0end", 4));
}

TEST(InputFile, RefusesWhatIsNotAnOrdinaryFile) {
  const TemporaryDirectory directory;
  expect_error(ErrorKind::kIo, {"Is a directory"}, [&] { InputFile(directory.path()); });
  expect_error(ErrorKind::kIo, {"/dev/null", "not an ordinary file"},
               [] { InputFile("/dev/null"); });
  expect_error(ErrorKind::kIo, {"No such file"}, [&] { InputFile(directory / "none"); });
}

}  // namespace
}  // namespace saddle
