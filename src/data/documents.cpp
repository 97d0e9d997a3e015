#include "data/documents.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace saddle::data {

namespace {

bool contains(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

std::vector<Path> files_of_folder(const Path& folder) {
  std::vector<Path> found;
  std::error_code code;
  std::filesystem::directory_iterator entries(folder, code);
  if (code) fail(ErrorKind::kIo, "cannot list {}: {}", folder.string(), code.message());
  for (const auto& entry : entries) {
    if (is_document_file(entry.path()) &&
        std::filesystem::is_regular_file(file_status(entry.path()))) {
      found.push_back(entry.path());
    }
  }
  return found;
}

std::vector<Path> files_of_pattern(const std::string& pattern) {
  std::vector<Path> found;
  glob_t matches{};
  const int code = glob(pattern.c_str(), 0, nullptr, &matches);
  for (size_t i = 0; code == 0 && i < matches.gl_pathc; ++i) {
    const Path path(matches.gl_pathv[i]);
    if (std::filesystem::is_regular_file(file_status(path))) found.push_back(path);
  }
  globfree(&matches);
  if (code != 0 && code != GLOB_NOMATCH) {
    fail(ErrorKind::kIo, "cannot list the files that match {}", pattern);
  }
  return found;
}

}  // namespace

bool is_document_file(const Path& path) {
  const std::string name = path.filename().string();
  constexpr std::array<std::string_view, 4> kEndings = {".json", ".jsonl", ".json.gz", ".jsonl.gz"};
  return !name.starts_with('.') &&
         std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

DocumentFiles find_document_files(const std::string& source) {
  if (source.empty()) {
    fail(ErrorKind::kConfig,
         "no source of documents is given: expected a folder, a glob or a file");
  }
  std::vector<Path> found = std::filesystem::is_directory(file_status(source))
                                ? files_of_folder(source)
                                : files_of_pattern(source);
  // Two folders may hold files of the same name: the whole path breaks the tie.
  std::sort(found.begin(), found.end(), [](const Path& a, const Path& b) {
    return std::pair(a.filename().string(), a.string()) <
           std::pair(b.filename().string(), b.string());
  });
  DocumentFiles files;
  for (const Path& path : found) {
    const std::string name = path.filename().string();
    const bool train = contains(name, "train");
    const bool validation = contains(name, "validation");
    if (train && validation) {
      fail(ErrorKind::kData, "{}: the name says both \"train\" and \"validation\"", path.string());
    }
    (train ? files.train : validation ? files.validation : files.ignored).push_back(path);
  }
  if (files.train.empty() && files.validation.empty()) {
    fail(ErrorKind::kData,
         "no document files in {}: expected names with \"train\" or \"validation\" that end in "
         ".json, .jsonl, .json.gz or .jsonl.gz, found {} other files",
         source, files.ignored.size());
  }
  return files;
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
      lines_.reset();
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
  // The JSON library takes a NUL for the end of its input, and would drop what comes behind it.
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
