#include "base/output_file.h"

namespace saddle {

void check_output_file(const Path& path) {
  const std::filesystem::file_status status = file_status(path);
  const bool other = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                     !std::filesystem::is_directory(status);
  if (!other) const AtomicFile probe(path);
}

}  // namespace saddle
