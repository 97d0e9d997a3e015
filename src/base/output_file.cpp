#include "base/output_file.h"

#include "base/error.h"
#include "base/write_target.h"

namespace saddle {

void check_output_file(const Path& path) {
  const std::filesystem::file_status status = file_status(path);
  const bool other = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                     !std::filesystem::is_directory(status);
  if (!other) const AtomicFile probe(path);
}

void check_new_file(const Path& path) {
  const bool taken = std::filesystem::is_directory(file_status(path)) ||
                     (write_target(path).kind == WriteTarget::Kind::kFile &&
                      std::filesystem::exists(file_status(path)));
  if (taken) {
    fail(ErrorKind::kConfig, "'{}' already exists: choose a new file", path.string());
  }
}

}  // namespace saddle
