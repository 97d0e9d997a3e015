#include "data/documents.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/json.h"

namespace saddle::data {

namespace {

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace

std::string passed_over_text(int64_t blank_lines, int64_t zero_bytes) {
  std::vector<std::string> parts;
  if (blank_lines > 0) parts.push_back(fmt::format("{} blank lines", blank_lines));
  if (zero_bytes > 0) parts.push_back(fmt::format("{} zero bytes after gzip data", zero_bytes));
  if (parts.empty()) return {};
  return fmt::format("{} were ignored", fmt::join(parts, " and "));
}

DocumentReader::DocumentReader(std::shared_ptr<FileSequence> files) : files_(std::move(files)) {}

DocumentReader::DocumentReader(std::vector<Path> files)
    : DocumentReader(std::make_shared<LocalFiles>(std::move(files))) {}

std::optional<std::string> DocumentReader::next() {
  while (true) {
    if (!lines_) {
      if (state_.files == files_->count()) return std::nullopt;
      path_ = files_->fetch(state_.files);
      lines_.emplace(path_);
      ++state_.files;
    }
    const bool any = lines_->next(&line_);
    state_.bytes = bytes_before_ + lines_->bytes_read();
    if (!any) {
      bytes_before_ = state_.bytes;
      state_.zero_bytes += lines_->zero_bytes();
      lines_.reset();
      continue;
    }
    if (is_blank(line_)) {
      ++state_.blank_lines;
      continue;
    }
    std::optional<std::string> text = parse_line();
    if (text) {
      ++state_.documents;
      return text;
    }
  }
}

std::optional<std::string> DocumentReader::parse_line() {
  const std::string where = fmt::format("{} line {}", path_.string(), lines_->line());
  // The JSON library treats a NUL as the end of its input and would drop everything after it.
  if (line_.find('\0') != std::string::npos) {
    fail(ErrorKind::kData, "{}: not valid JSON: a NUL byte", where);
  }
  Json document = parse_json(line_, where);
  if (!document.is_object()) {
    fail(ErrorKind::kData, "{}: expected a JSON object with a text, found {}", where,
         document.type_name());
  }
  const auto text = document.find("text");
  if (text == document.end() || text->is_null()) {
    if (state_.no_text++ == 0) state_.first_no_text = place();
    return std::nullopt;
  }
  if (!text->is_string()) {
    fail(ErrorKind::kData, "{}: expected \"text\" to be a string, found {}", where,
         text->type_name());
  }
  auto& value = text->get_ref<std::string&>();
  if (value.empty()) {
    if (state_.empty_text++ == 0) state_.first_empty_text = place();
    return std::nullopt;
  }
  return std::move(value);
}

}  // namespace saddle::data
