#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/lock_state.h"
#include "base/system_error.h"

namespace saddle {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) < 0) return "unknown host";
  return name.data();
}

// The line that the holder wrote, or "another process" without one.
std::string holder(int descriptor) {
  std::array<char, 1024> text{};
  const ssize_t got =
      retry_interrupted([&] { return ::pread(descriptor, text.data(), text.size(), 0); });
  std::string line(text.data(), got > 0 ? static_cast<size_t>(got) : 0);
  line.resize(std::min(line.size(), line.find('\n')));
  return line.empty() ? "another process" : line;
}

// Takes the exclusive lock. is_locked() holds a shared lock for a moment, so a busy lock is tried
// again for a short time.
int take(int descriptor) {
  constexpr int kAttempts = 11;
  constexpr useconds_t kPause = 10'000;  // microseconds
  for (int attempt = 1;; ++attempt) {
    const int result = retry_interrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); });
    if (result == 0 || errno != EWOULDBLOCK || attempt == kAttempts) return result;
    ::usleep(kPause);
  }
}

}  // namespace

FileLock::FileLock(const Path& path, std::string_view purpose) {
  descriptor_ =
      retry_interrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  if (descriptor_ < 0) fail_system("open the lock", path);
  if (take(descriptor_) < 0) {
    const int code = errno;
    const std::string who = code == EWOULDBLOCK ? holder(descriptor_) : std::string();
    ::close(std::exchange(descriptor_, -1));
    if (code != EWOULDBLOCK) fail_system("lock", path, code);
    fail(ErrorKind::kIo, "{} is refused: '{}' is locked by {}", purpose, path.string(), who);
  }
  const std::string line = fmt::format("process {} on {} since {} ({})\n", ::getpid(), host_name(),
                                       utc_timestamp(), purpose);
  // The text only helps people: the lock is valid without it, so failures (a full disk) are
  // ignored. The file is cut to length after writing, so that a concurrent reader never finds it
  // empty.
  const ssize_t written = ::pwrite(descriptor_, line.data(), line.size(), 0);
  [[maybe_unused]] const int cut = written > 0 ? ::ftruncate(descriptor_, written) : 0;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool is_locked(const Path& path) {
  const int descriptor =
      retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (descriptor < 0) return false;
  // A shared lock is granted unless another holds the exclusive one; closing releases it.
  const int result = retry_interrupted([&] { return ::flock(descriptor, LOCK_SH | LOCK_NB); });
  const bool locked = result < 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return locked;
}

}  // namespace saddle
