#include "data/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/system_error.h"

namespace saddle::data {

namespace {

Path directory_of(const Path& destination) {
  const Path parent = destination.parent_path();
  return parent.empty() ? Path(".") : parent;
}

Path beside(const Path& destination, std::string_view ending) {
  return directory_of(destination) / fmt::format(".{}{}", destination.filename().string(), ending);
}

Path part_path(const Path& destination) {
  return beside(destination, ".part");
}
Path record_path(const Path& destination) {
  return beside(destination, ".part.json");
}

}  // namespace

PartFile::PartFile(const Path& destination)
    : destination_(destination), part_(part_path(destination)), record_(record_path(destination)) {
  descriptor_ = retry_interrupted(
      [&] { return ::open(part_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666); });
  if (descriptor_ < 0) fail_system("write", part_);
  struct stat status {};
  if (::fstat(descriptor_, &status) < 0) {
    const int code = errno;
    ::close(descriptor_);
    fail_system("read", part_, code);
  }
  size_ = status.st_size;
  try {
    if (size_ > 0 && !read_origin()) empty();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

PartFile::~PartFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool PartFile::read_origin() {
  try {
    const Json record = read_json(record_);
    origin_.url = record.at("url").get<std::string>();
    origin_.etag = record.at("etag").get<std::string>();
    origin_.sha256 = record.at("sha256").get<std::string>();
    if (!record.at("bytes").is_null()) origin_.bytes = json_integer(record.at("bytes"));
    return true;
  } catch (const std::exception&) {
    origin_ = {};  // missing or damaged: the part then starts again
    return false;
  }
}

void PartFile::empty() {
  if (retry_interrupted([&] { return ::ftruncate(descriptor_, 0); }) < 0) {
    fail_system("empty", part_);
  }
  size_ = 0;
  origin_ = {};
}

void PartFile::restart(const PartOrigin& origin) {
  empty();
  // In this order, a kill in between leaves an empty part, which is valid for any file.
  const Json bytes = origin.bytes ? Json(*origin.bytes) : Json();
  write_json(
      record_,
      {{"url", origin.url}, {"etag", origin.etag}, {"bytes", bytes}, {"sha256", origin.sha256}});
  origin_ = origin;
}

void PartFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        retry_interrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (written < 0) fail_system("write", part_);
    bytes.remove_prefix(static_cast<size_t>(written));
    size_ += written;
  }
}

void PartFile::publish() {
  if (retry_interrupted([&] { return ::fsync(descriptor_); }) < 0) fail_system("flush", part_);
  if (::rename(part_.c_str(), destination_.c_str()) < 0) {
    fail_system("rename a file to", destination_);
  }
  flush_directory(directory_of(destination_));
  remove_leftovers(destination_);
}

void PartFile::remove_leftovers(const Path& destination) {
  std::error_code ignored;  // they only take up space
  std::filesystem::remove(part_path(destination), ignored);
  std::filesystem::remove(record_path(destination), ignored);
}

}  // namespace saddle::data
