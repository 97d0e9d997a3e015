#include "data/build_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/system_error.h"

namespace saddle::data {

namespace {

// Links are followed, as a rename would replace a link; and a trailing slash that a user may have
// typed is dropped, so that the path has a name and a parent.
Path named_path(const Path& path) {
  std::error_code error;
  Path whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  if (error) fail_system("inspect", path, error.value());
  if (!whole.has_filename()) whole = whole.parent_path();
  if (!whole.has_filename()) {
    fail(ErrorKind::kConfig, "{} cannot be the directory of a token cache", path.string());
  }
  return whole;
}

FileLock lock_for(const Path& target) {
  make_directories(target.parent_path());
  return FileLock(target.parent_path() / fmt::format(".{}.lock", target.filename().string()),
                  fmt::format("prepare into {}", target.string()));
}

// No rename can replace a directory on which a file system is mounted.
bool is_mount_point(const Path& directory) {
  struct stat own {};
  struct stat above {};
  if (::stat(directory.c_str(), &own) < 0) fail_system("inspect", directory);
  if (::stat(directory.parent_path().c_str(), &above) < 0) {
    fail_system("inspect", directory.parent_path());
  }
  if (own.st_dev != above.st_dev) return true;
  // A part of the same file system may be mounted there; older kernels do not report it.
  struct statx status {};
  return ::statx(AT_FDCWD, directory.c_str(), 0, 0, &status) == 0 &&
         (status.stx_attributes & status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool all_digits(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

BuildDirectory::BuildDirectory(const Path& target)
    : target_(named_path(target)), lock_(lock_for(target_)) {}

BuildDirectory::~BuildDirectory() {
  std::error_code ignored;  // nothing can be done about it; the next writer removes it
  if (!building_.empty()) std::filesystem::remove_all(building_, ignored);
}

std::string BuildDirectory::prefix() const {
  return fmt::format(".{}.building-", target_.filename().string());
}

void BuildDirectory::remove_leftovers(Log* log) const {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(target_.parent_path(), code)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix()) || !all_digits(name.substr(prefix().size()))) continue;
    if (entry.symlink_status(code).type() != std::filesystem::file_type::directory) continue;
    log->info("removing {}, left by a preparation that was killed", entry.path().string());
    std::filesystem::remove_all(entry.path(), code);
  }
}

const Path& BuildDirectory::create(Log* log) {
  const bool is_directory = std::filesystem::is_directory(file_status(target_));
  std::error_code code;
  const bool is_there = std::filesystem::exists(std::filesystem::symlink_status(target_, code));
  if (is_there && !(is_directory && std::filesystem::is_empty(target_, code))) {
    fail(ErrorKind::kData, "{} already exists and is not a token cache: choose a new directory",
         target_.string());
  }
  if (is_directory && is_mount_point(target_)) {
    fail(ErrorKind::kConfig,
         "{} cannot be the directory of a token cache, as a file system is mounted there: choose a "
         "directory inside it",
         target_.string());
  }
  remove_leftovers(log);
  // mkdir fails if the path already exists, for example as a link to another directory.
  for (int64_t number = ::getpid(); building_.empty(); ++number) {
    const Path path = target_.parent_path() / (prefix() + std::to_string(number));
    if (::mkdir(path.c_str(), 0777) == 0) {
      building_ = path;
    } else if (errno != EEXIST) {
      fail_system("create the directory", path);
    }
  }
  return building_;
}

void BuildDirectory::publish() {
  flush_directory(building_);
  std::error_code code;
  std::filesystem::rename(building_, target_, code);
  if (code) {
    fail(ErrorKind::kIo, "cannot rename {} to {}: {}", building_.string(), target_.string(),
         code.message());
  }
  building_.clear();
  flush_directory(target_.parent_path());
}

}  // namespace saddle::data
