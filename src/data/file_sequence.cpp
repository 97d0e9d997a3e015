#include "data/file_sequence.h"

#include "base/sha256.h"
#include "base/text.h"

namespace saddle::data {

LocalFiles::LocalFiles(std::vector<Path> paths) : paths_(std::move(paths)) {
  for (const Path& path : paths_) total_bytes_ += InputFile(path).size();
}

bool LocalFiles::matches(int64_t index, const SourceRecord& record) const {
  return describe_source(paths_.at(static_cast<size_t>(index))) == record;
}

SourceRecord describe_source(const Path& path) {
  return {utf8(path.filename().string()), InputFile(path).size(), sha256_file(path)};
}

}  // namespace saddle::data
