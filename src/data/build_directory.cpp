#include "data/build_directory.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"

namespace saddle::data {

namespace {

// Without the trailing slash that a user may have typed, so that it has a name and a parent.
Path named_path(const Path& path) {
  Path whole = std::filesystem::absolute(path).lexically_normal();
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
    if (entry.is_symlink() || !entry.is_directory()) continue;
    log->info("removing {}, left by a preparation that was killed", entry.path().string());
    std::filesystem::remove_all(entry.path(), code);
  }
}

const Path& BuildDirectory::create(Log* log) {
  if (std::filesystem::exists(std::filesystem::symlink_status(target_)) &&
      !(std::filesystem::is_directory(target_) && std::filesystem::is_empty(target_))) {
    fail(ErrorKind::kData, "{} is there already and is no token cache: choose a new directory",
         target_.string());
  }
  remove_leftovers(log);
  const Path path = target_.parent_path() / (prefix() + std::to_string(::getpid()));
  make_directories(path);
  building_ = path;
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
