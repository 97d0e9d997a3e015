#include "data/gzip_file.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/narrow.h"
#include "data/lines.h"

namespace saddle::data {

namespace {

constexpr std::string_view kGzipBeginning = "\x1f\x8b\x08";  // RFC 1952: the magic, deflate
constexpr int64_t kShownBytes = 40;

}  // namespace

std::string gzip_beginning_fault(const Path& path) {
  const InputFile file(path);
  std::string beginning(narrow<size_t>(std::min(file.size(), kShownBytes)), '\0');
  file.read_at(0, beginning.data(), beginning.size());
  if (beginning.starts_with(kGzipBeginning)) return {};
  if (beginning.empty()) return "expected gzip data, found an empty file";
  const bool page = beginning.find('<') != std::string::npos;
  return fmt::format("expected gzip data, found \"{}{}\"{}", beginning,
                     file.size() > kShownBytes ? "..." : "",
                     page ? " (the login page of a network?)" : "");
}

std::string gzip_fault(const Path& path) {
  try {
    LineReader lines(path, Compression::kGzip);
    std::string line;
    while (lines.next(&line)) {
    }
    return {};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    return error.what();
  }
}

}  // namespace saddle::data
