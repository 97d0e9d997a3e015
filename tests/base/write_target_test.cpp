// Writing under names that are links, pipes, devices and open descriptors.
#include "base/write_target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "support/directory_contents.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

// A descriptor that the test opens itself.
class Opened {
 public:
  Opened(const Path& path, int flags) : descriptor_(::open(path.c_str(), flags, 0600)) {
    EXPECT_GE(descriptor_, 0) << std::strerror(errno);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { ::close(descriptor_); }

  int get() const { return descriptor_; }
  std::string name(const std::string& folder) const {
    return folder + "/" + std::to_string(descriptor_);
  }
  void write(const std::string& text) const {
    EXPECT_EQ(::write(descriptor_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string read() const {
    std::array<char, 256> bytes{};
    const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
    return count <= 0 ? "" : std::string(bytes.data(), static_cast<size_t>(count));
  }

 private:
  int descriptor_;
};

class WriteTargetTest : public ::testing::Test {
 protected:
  WriteTargetTest() {
    make_directories(directory_ / "real");
    make_directories(directory_ / "links");
  }

  Path link(const Path& to) const {
    const Path path = directory_ / "links/link";
    std::filesystem::create_symlink(to, path);
    return path;
  }

  TemporaryDirectory directory_;
};

TEST_F(WriteTargetTest, ALinkStaysAndItsFileIsReplaced) {
  write_file_atomically(directory_ / "real/file", "old");
  std::filesystem::create_symlink("../real/file", directory_ / "links/inner");
  const Path path = link("inner");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(names_in(directory_ / "real").size(), 2U)
        << "the temporary file is in the same directory";
    EXPECT_EQ(names_in(directory_ / "links").size(), 2U);
    EXPECT_EQ(read_file(directory_ / "real/file"), "old");
    file.commit();
  }
  EXPECT_EQ(read_file(directory_ / "real/file"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_EQ(names_in(directory_ / "real"), std::vector<std::string>{"file"});
}

TEST_F(WriteTargetTest, ADanglingLinkCreatesItsFile) {
  const Path path = link(directory_ / "real/new");
  write_file_atomically(path, "content");
  EXPECT_EQ(read_file(directory_ / "real/new"), "content");
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST_F(WriteTargetTest, ALinkIntoAMissingDirectoryIsRefused) {
  const Path path = link(directory_ / "missing/file");
  expect_error(ErrorKind::kIo,
               {path.string(), "it is a link to", (directory_ / "missing/file").string()},
               [&] { write_file_atomically(path, "content"); });
}

TEST_F(WriteTargetTest, ALinkToItselfIsRefused) {
  expect_error(ErrorKind::kIo, {"links/link", "Too many levels of symbolic links"},
               [&] { write_file_atomically(link("link"), "content"); });
}

TEST_F(WriteTargetTest, APipeIsWrittenDirectly) {
  const Path pipe = directory_ / "real/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Opened reader(pipe, O_RDONLY | O_NONBLOCK);
  { const AtomicFile checked(pipe); }  // opens nothing: its reader would see the end
  write_file_atomically(link(pipe), "content");
  EXPECT_EQ(reader.read(), "content");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(names_in(directory_ / "real"), std::vector<std::string>{"pipe"});
}

TEST_F(WriteTargetTest, DevicesAreWrittenDirectly) {
  write_file_atomically("/dev/null", "content");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  if (!std::filesystem::exists("/dev/full")) return;
  expect_error(ErrorKind::kIo, {"/dev/full", "No space left"},
               [] { write_file_atomically("/dev/full", "content"); });
}

// The file of a descriptor is neither truncated nor replaced: others continue writing to it.
TEST_F(WriteTargetTest, ANameOfADescriptorIsThatDescriptor) {
  for (const std::string folder : {"/proc/self/fd", "/dev/fd", "/proc/thread-self/fd"}) {
    const Path path = directory_ / "real/log";
    const Opened log(path, O_WRONLY | O_CREAT | O_TRUNC);
    log.write("before ");
    write_file_atomically(log.name(folder), "content");
    log.write(" after");
    EXPECT_EQ(read_file(path), "before content after") << folder;
    EXPECT_EQ(names_in(directory_ / "real"), std::vector<std::string>{"log"}) << folder;
  }
}

TEST_F(WriteTargetTest, ADescriptorOfAFileWithoutANameIsWritten) {
  const Opened file(directory_ / "real/gone", O_RDWR | O_CREAT);
  std::filesystem::remove(directory_ / "real/gone");
  write_file_atomically(link(file.name("/proc/self/fd")), "content");
  ::lseek(file.get(), 0, SEEK_SET);
  EXPECT_EQ(file.read(), "content");
  EXPECT_TRUE(names_in(directory_ / "real").empty());
}

TEST_F(WriteTargetTest, DescriptorsThatCannotBeWrittenAreRefused) {
  write_file_atomically(directory_ / "real/file", "old");
  const Opened file(directory_ / "real/file", O_RDONLY);
  expect_error(ErrorKind::kIo, {file.name("/dev/fd"), "open for reading only"},
               [&] { AtomicFile{file.name("/dev/fd")}; });
  expect_error(ErrorKind::kIo, {"/dev/fd/987654"}, [] { AtomicFile{"/dev/fd/987654"}; });
}

TEST_F(WriteTargetTest, WhatCanBeNeitherReplacedNorWrittenIsRefused) {
  const Path path = directory_ / "real/socket";
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_GE(socket, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.string().size(), sizeof(address.sun_path));
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  expect_error(ErrorKind::kIo, {path.string(), "it is a socket"},
               [&] { write_file_atomically(path, "content"); });
  ::close(socket);
  expect_error(ErrorKind::kIo, {"links/link", "Is a directory"},
               [&] { write_file_atomically(link(directory_ / "real"), "content"); });
}

}  // namespace
}  // namespace saddle
