#include "base/write_target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <optional>

#include "base/system_error.h"

namespace saddle {
namespace {

constexpr int kMostLinks = 40;  // as in the kernel

bool is_link(const Path& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::status_known(status)) fail_system("inspect", path, error.value());
  return std::filesystem::is_symlink(status);
}

// The number of a descriptor of this process if `link` is the kernel's link for one.
std::optional<int> descriptor_of(const Path& link) {
  const std::string name = link.filename().string();
  int number = -1;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (code != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  std::error_code error;
  const Path directory = std::filesystem::canonical(link.parent_path(), error);
  if (error) return std::nullopt;
  for (const char* own : {"/proc/self/fd", "/proc/thread-self/fd"}) {
    if (directory == std::filesystem::canonical(own, error) && !error) return number;
  }
  return std::nullopt;
}

WriteTarget descriptor_target(const Path& path, int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) fail_system("write", path);
  if ((flags & O_ACCMODE) == O_RDONLY) {
    fail(ErrorKind::kIo, "cannot write '{}': descriptor {} is open for reading only", path.string(),
         descriptor);
  }
  return {WriteTarget::Kind::kDescriptor, path, descriptor};
}

bool same_file(const Path& a, const Path& b) {
  struct stat of_a {};
  struct stat of_b {};
  return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 &&
         of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

}  // namespace

WriteTarget write_target(const Path& path) {
  const std::string name = path.filename().string();
  if (name.empty() || name == "." || name == "..") fail_system("write", path, EISDIR);
  const std::filesystem::file_status status = file_status(path);
  if (std::filesystem::is_directory(status)) fail_system("write", path, EISDIR);
  Path file = path;
  for (int links = 0; is_link(file); ++links) {
    if (const auto descriptor = descriptor_of(file)) return descriptor_target(path, *descriptor);
    std::error_code error;
    const Path next = std::filesystem::read_symlink(file, error);
    if (error || links == kMostLinks) {
      fail_system("follow the link", path, error ? error.value() : ELOOP);
    }
    file = file.parent_path() / next;
  }
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    // The kernel's links to open files of other processes may lead to a name that is gone or
    // reused.
    if (std::filesystem::exists(status) && !same_file(path, file)) {
      fail(ErrorKind::kIo, "cannot write '{}': '{}' is no longer the name of that file",
           path.string(), file.string());
    }
    // Replacing a file needs no permission to write to it; but it was withdrawn for a reason.
    if (std::filesystem::exists(status) &&
        ::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) < 0) {
      fail_system("write", path);
    }
    return {WriteTarget::Kind::kFile, file};
  }
  if (!std::filesystem::is_fifo(status) && !std::filesystem::is_character_file(status)) {
    fail(ErrorKind::kIo, "cannot write '{}': expected a file, a pipe or a terminal, but it is a {}",
         path.string(),
         std::filesystem::is_socket(status)       ? "socket"
         : std::filesystem::is_block_file(status) ? "block device"
                                                  : "file of another kind");
  }
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) < 0) fail_system("write", path);
  return {WriteTarget::Kind::kStream, path};
}

}  // namespace saddle
