#include "base/staged_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "base/system_error.h"

namespace saddle {
namespace {

// Links are followed, as a rename would replace a link. A trailing slash that a user may have typed
// is removed, so that the path has a name and a parent.
Path named_path(const Path& path) {
  std::error_code error;
  Path whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  if (error) fail_system("inspect", path, error.value());
  if (!whole.has_filename()) whole = whole.parent_path();
  if (!whole.has_filename()) {
    fail(ErrorKind::kConfig, "'{}' cannot be created: it has no name", path.string());
  }
  return whole;
}

// A descriptor of the directory, with its lock; or -1, with errno ENOENT if the directory is gone
// and EWOULDBLOCK if another process holds the lock.
int open_locked(const Path& directory) {
  const int descriptor = retry_interrupted(
      [&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) return -1;
  int code = 0;
  struct stat locked {};
  struct stat named {};
  if (retry_interrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) < 0 ||
      ::fstat(descriptor, &locked) < 0 || ::stat(directory.c_str(), &named) < 0) {
    code = errno;
  } else if (named.st_ino != locked.st_ino) {
    code = ENOENT;  // it was removed and recreated between open and lock
  }
  if (code == 0) return descriptor;
  ::close(descriptor);
  errno = code;
  return -1;
}

void refuse_what_is_there(const Path& target) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(target, error);
  if (!std::filesystem::exists(status)) return;
  if (std::filesystem::is_directory(status) && std::filesystem::is_empty(target, error)) return;
  fail(ErrorKind::kConfig, "'{}' already exists: choose a new directory", target.string());
}

}  // namespace

StagedDirectory::MissingParents::MissingParents(Path directory) {
  std::error_code error;
  while (!std::filesystem::exists(directory, error) && directory.has_relative_path()) {
    directories.push_back(directory);
    directory = directory.parent_path();
  }
}

StagedDirectory::MissingParents::~MissingParents() {
  for (const Path& directory : directories) {
    if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) return;
  }
}

StagedDirectory::StagedDirectory(const Path& target)
    : target_(named_path(target)), missing_(target_.parent_path()) {
  refuse_what_is_there(target_);
  make_directories(target_.parent_path());
  remove_leftovers();
  // mkdir finds the first free number, so that writers of one target do not collide.
  for (int number = 0; descriptor_ < 0; ++number) {
    const Path path = target_.parent_path() / (prefix() + std::to_string(number));
    if (::mkdir(path.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      fail_system("create the directory", path);
    }
    descriptor_ = open_locked(path);
    const int code = errno;
    if (descriptor_ >= 0) {
      staged_ = path;
    } else if (code != ENOENT && code != EWOULDBLOCK) {
      ::rmdir(path.c_str());
      fail_system("lock", path, code);
    }  // else another writer just took it for a leftover
  }
}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;  // the next writer removes what is left
  if (!staged_.empty()) std::filesystem::remove_all(staged_, ignored);
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string StagedDirectory::prefix() const {
  return fmt::format(".{}.staged-", target_.filename().string());
}

void StagedDirectory::remove_leftovers() const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(target_.parent_path(), error)) {
    if (!entry.path().filename().string().starts_with(prefix())) continue;
    if (entry.is_symlink(error) || !entry.is_directory(error)) continue;
    const int descriptor = open_locked(entry.path());
    if (descriptor < 0) continue;  // somebody is writing there, or it is not ours to remove
    std::filesystem::remove_all(entry.path(), error);
    ::close(descriptor);
  }
}

void StagedDirectory::publish() {
  flush_directory(staged_);
  if (::rename(staged_.c_str(), target_.c_str()) != 0) {
    const int code = errno;
    refuse_what_is_there(target_);  // another writer was first
    fail_system("rename a directory to", target_, code);
  }
  staged_.clear();
  missing_.directories.clear();
  flush_directory(target_.parent_path());
}

}  // namespace saddle
