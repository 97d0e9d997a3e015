#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <regex>
#include <utility>
#include <vector>

#include "base/narrow.h"
#include "base/system_error.h"
#include "base/write_target.h"

namespace saddle {
namespace {

// Small writes are gathered into pieces of this size.
constexpr size_t kBufferBytes = size_t{1} << 20;

int open_file(const Path& path, int flags, std::string_view action) {
  const int descriptor =
      retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
  if (descriptor < 0) fail_system(action, path);
  return descriptor;
}

// Gives the file that will replace `target` its owner, group and mode, as far as this process and
// the file system can: another owner's file becomes this user's.
void keep_owner_and_mode(const Path& target, int descriptor) {
  struct stat before {};
  if (::stat(target.c_str(), &before) < 0) return;
  if (::fchown(descriptor, before.st_uid, before.st_gid) < 0) {
    [[maybe_unused]] const int of_group = ::fchown(descriptor, -1, before.st_gid);
  }
  if (::fchmod(descriptor, before.st_mode & 0777) < 0 && errno != EPERM && errno != ENOTSUP) {
    fail_system("set the mode of", target);
  }
}

void write_fully(int descriptor, const char* bytes, size_t count, const Path& path) {
  while (count > 0) {
    const ssize_t written = retry_interrupted([&] { return ::write(descriptor, bytes, count); });
    if (written < 0) fail_system("write", path);
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

Path directory_of(const Path& path) {
  const Path parent = path.parent_path();
  return parent.empty() ? Path(".") : parent;
}

}  // namespace

void flush_directory(const Path& directory) {
  const int descriptor = open_file(directory, O_RDONLY | O_DIRECTORY, "open the directory");
  const int result = retry_interrupted([&] { return ::fsync(descriptor); });
  const int code = errno;
  ::close(descriptor);
  // Some file systems cannot flush a directory and say EINVAL: nothing more can be done there.
  if (result < 0 && code != EINVAL) fail_system("flush the directory", directory, code);
}

std::string read_file(const Path& path) {
  const int descriptor = open_file(path, O_RDONLY, "open");
  std::string content;
  size_t filled = 0;
  // Reads to the end instead of trusting the size: files in /proc report a size of 0.
  while (true) {
    if (filled == content.size()) content.resize(std::max(size_t{4096}, 2 * filled));
    const ssize_t got = retry_interrupted(
        [&] { return ::read(descriptor, content.data() + filled, content.size() - filled); });
    if (got <= 0) {
      const int code = errno;
      ::close(descriptor);
      if (got < 0) fail_system("read", path, code);
      break;
    }
    filled += static_cast<size_t>(got);
  }
  content.resize(filled);
  return content;
}

std::filesystem::file_status file_status(const Path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::status_known(status)) fail_system("inspect", path, error.value());
  return status;
}

void make_directories(const Path& path) {
  std::vector<Path> missing;  // the innermost first
  for (Path part = path; !part.empty() && !std::filesystem::exists(file_status(part));) {
    missing.push_back(part);
    part = part.parent_path();
  }
  for (; !missing.empty(); missing.pop_back()) {
    const Path& directory = missing.back();
    std::error_code error;
    const bool made = std::filesystem::create_directory(directory, error);
    if (error) fail_system("create the directory", directory, error.value());
    if (made) flush_directory(directory_of(directory));
  }
  if (!std::filesystem::is_directory(file_status(path))) {
    fail_system("create the directory", path, ENOTDIR);
  }
}

void write_file_atomically(const Path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

AtomicFile::AtomicFile(Path path) : path_(std::move(path)) {
  const WriteTarget target = write_target(path_);
  target_ = target.path;
  whole_ = target.kind == WriteTarget::Kind::kFile;
  if (whole_) {
    open_beside_target();
  } else if (target.kind == WriteTarget::Kind::kDescriptor) {
    descriptor_ = ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 3);
    if (descriptor_ < 0) fail_system("write", path_);
  }
}

void AtomicFile::open_beside_target() {
  const Path directory = directory_of(target_);
  if (target_ != path_ && !std::filesystem::is_directory(file_status(directory))) {
    fail(ErrorKind::kIo, "cannot write '{}': it is a link to '{}', and '{}' is not a directory",
         path_.string(), target_.string(), directory.string());
  }
  const std::string name = target_.filename().string();
  // O_EXCL finds the first free number, so that concurrent writers of one name do not collide.
  for (int number = 0; descriptor_ < 0; ++number) {
    temporary_ = directory / fmt::format(".{}.tmp-{}-{}", name, ::getpid(), number);
    descriptor_ = retry_interrupted(
        [&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
    if (descriptor_ < 0 && errno != EEXIST) fail_system("write", path_);
  }
  keep_owner_and_mode(target_, descriptor_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, size_t count) {
  if (committed_) fail(ErrorKind::kInternal, "'{}' is written after commit", path_.string());
  const char* first = static_cast<const char*>(bytes);
  size_ += narrow<int64_t>(count);
  if (buffer_.size() + count >= kBufferBytes) {
    put(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  if (count >= kBufferBytes) {
    put(first, count);
  } else {
    buffer_.append(first, count);
  }
}

void AtomicFile::put(const char* bytes, size_t count) {
  // A pipe is opened for the first bytes: opening it and writing nothing would end its reader.
  if (descriptor_ < 0) descriptor_ = open_file(target_, O_WRONLY | O_NOCTTY, "write");
  write_fully(descriptor_, bytes, count, path_);
}

void AtomicFile::commit() {
  if (committed_) fail(ErrorKind::kInternal, "'{}' is committed twice", path_.string());
  committed_ = true;
  put(buffer_.data(), buffer_.size());
  buffer_.clear();
  // A stream has nothing to flush, and a descriptor of others is theirs to flush.
  if (whole_ && retry_interrupted([&] { return ::fsync(descriptor_); }) < 0) {
    fail_system("flush", path_);
  }
  // close is never repeated: after EINTR the descriptor is gone and may belong to someone else.
  if (::close(std::exchange(descriptor_, -1)) < 0 && errno != EINTR) fail_system("close", path_);
  if (!whole_) return;
  if (::rename(temporary_.c_str(), target_.c_str()) < 0) fail_system("rename a file to", path_);
  temporary_.clear();
  flush_directory(directory_of(target_));
}

AppendFile::AppendFile(Path path) : path_(std::move(path)) {
  descriptor_ = open_file(path_, O_WRONLY | O_CREAT | O_APPEND, "open");
}

AppendFile::~AppendFile() {
  ::close(descriptor_);
}

void AppendFile::write(std::string_view text) {
  write_fully(descriptor_, text.data(), text.size(), path_);
}

void remove_unfinished_files(const Path& directory) {
  const std::regex name_of_one(R"(\..+\.tmp-[0-9]+-[0-9]+)");  // as the constructor names them
  std::error_code ignored;                                     // they only take space
  std::vector<Path> found;
  for (std::filesystem::directory_iterator entry(directory, ignored), end; entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (entry->symlink_status(ignored).type() == std::filesystem::file_type::regular &&
        std::regex_match(name, name_of_one)) {
      found.push_back(entry->path());
    }
  }
  for (const Path& path : found) std::filesystem::remove(path, ignored);
}

InputFile::InputFile(Path path) : path_(std::move(path)) {
  descriptor_ = open_file(path_, O_RDONLY, "open");
  struct stat status {};
  const int result = ::fstat(descriptor_, &status);
  const int code = result < 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  const bool regular = S_ISREG(status.st_mode);
  if (code != 0 || !regular) {
    ::close(descriptor_);
    if (code != 0) fail_system("read", path_, code);
    fail(ErrorKind::kIo, "cannot read '{}': it is not an ordinary file", path_.string());
  }
  size_ = narrow<int64_t>(status.st_size);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(std::exchange(other.size_, 0)) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read_at(int64_t offset, void* bytes, size_t count) const {
  static_assert(sizeof(off_t) == 8, "offsets must be of 64 bits");
  char* target = static_cast<char*>(bytes);
  size_t filled = 0;
  while (filled < count) {
    const off_t position = offset + narrow<int64_t>(filled);
    const ssize_t got = retry_interrupted(
        [&] { return ::pread(descriptor_, target + filled, count - filled, position); });
    if (got < 0) fail_system("read", path_);
    if (got == 0) {
      fail(ErrorKind::kIo, "cannot read '{}': expected {} bytes at offset {}, found {}",
           path_.string(), count, offset, filled);
    }
    filled += static_cast<size_t>(got);
  }
}

}  // namespace saddle
