#include "data/document_files.h"

#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "data/lines.h"

namespace saddle::data {

namespace {

constexpr std::string_view kTrain = "train";
constexpr std::string_view kValidation = "validation";

struct FoundFile {
  Path path;
  bool named = false;  // by itself: not found in a folder or by a pattern
};

bool says(const Path& path, std::string_view word) {
  return path.filename().string().find(word) != std::string::npos;
}

bool is_regular(const Path& path) {
  return std::filesystem::is_regular_file(file_status(path));
}

[[noreturn]] void refuse_compression(const Path& path) {
  fail(ErrorKind::kData, "{}: {} files cannot be read: expected .gz or plain JSON lines",
       path.string(), other_compression(path));
}

std::vector<FoundFile> files_of_folder(const Path& folder) {
  std::vector<FoundFile> found;
  std::error_code code;
  std::filesystem::directory_iterator entries(folder, code);
  if (code) fail(ErrorKind::kIo, "cannot list {}: {}", folder.string(), code.message());
  size_t others = 0;
  for (const auto& entry : entries) {
    const Path& path = entry.path();
    // c4-train.json.zst next to c4-train.json.gz must not be ignored silently.
    const bool compressed = !other_compression(path).empty() && is_document_file(path.stem());
    if ((compressed || is_document_file(path)) && is_regular(path)) {
      found.push_back({path});
    } else {
      ++others;
    }
  }
  if (found.empty()) {
    fail(ErrorKind::kData,
         "no document files in {}: expected names that end in .json, .jsonl, .json.gz or "
         ".jsonl.gz, found {} other files",
         folder.string(), others);
  }
  return found;
}

std::vector<FoundFile> files_of_pattern(const std::string& pattern) {
  std::vector<FoundFile> found;
  glob_t matches{};
  const int code = glob(pattern.c_str(), 0, nullptr, &matches);
  for (size_t i = 0; code == 0 && i < matches.gl_pathc; ++i) {
    const Path path(matches.gl_pathv[i]);
    if (is_regular(path)) found.push_back({path});
  }
  globfree(&matches);
  if (code != 0 && code != GLOB_NOMATCH) {
    fail(ErrorKind::kIo, "cannot list the files that match {}", pattern);
  }
  if (!found.empty()) return found;
  const bool special = pattern.find_first_of("*?[") != std::string::npos;
  fail(ErrorKind::kData, "no document files in {}: {}", pattern,
       special ? "no file matches this pattern (\\[ stands for a [ in the name, \\* for a *)"
               : "there is no such file or folder");
}

// Those that can be read. The others are an error if the entry names one individually or matches
// nothing else; after `zstd -d`, which keeps its input, both are in the folder.
std::vector<FoundFile> readable(const std::vector<FoundFile>& found,
                                std::vector<IgnoredFile>* ignored) {
  std::vector<FoundFile> files;
  for (const FoundFile& file : found) {
    if (other_compression(file.path).empty()) files.push_back(file);
  }
  for (const FoundFile& file : found) {
    const std::string ending = other_compression(file.path);
    if (ending.empty()) continue;
    if (file.named || files.empty()) refuse_compression(file.path);
    ignored->push_back({file.path, fmt::format("{} files cannot be read", ending)});
  }
  return files;
}

// What the entries of one setting name, sorted, each path once.
std::vector<FoundFile> files_of(const std::vector<std::string>& source,
                                std::vector<IgnoredFile>* ignored) {
  std::map<std::string, FoundFile> by_path;
  for (const std::string& entry : source) {
    const std::filesystem::file_status status = file_status(entry);
    std::vector<FoundFile> found;
    if (std::filesystem::is_directory(status)) {
      found = files_of_folder(entry);
    } else if (std::filesystem::exists(status)) {
      found = {{entry, true}};
    } else {
      found = files_of_pattern(entry);
    }
    for (const FoundFile& file : readable(found, ignored)) {
      const auto [place, added] = by_path.try_emplace(
          std::filesystem::absolute(file.path).lexically_normal().string(), file);
      place->second.named |= file.named;
    }
  }
  std::vector<FoundFile> files;
  for (const auto& [path, file] : by_path) files.push_back(file);
  // Two folders may contain files with the same name: the whole path breaks the tie.
  std::ranges::sort(files, {}, [](const FoundFile& file) {
    return std::pair(file.path.filename().string(), file.path.string());
  });
  return files;
}

std::string joined(const std::vector<std::string>& source) {
  return fmt::format("{}", fmt::join(source, ", "));
}

DocumentFiles split_by_name(const std::vector<std::string>& source) {
  DocumentFiles files;
  int64_t neither = 0;
  for (const FoundFile& file : files_of(source, &files.ignored)) {
    const bool train = says(file.path, kTrain);
    const bool validation = says(file.path, kValidation);
    if (train && validation) {
      fail(ErrorKind::kData,
           "{}: the name says both \"train\" and \"validation\": give data.validation_source too",
           file.path.string());
    }
    if (train || validation) {
      (train ? files.train : files.validation).push_back(file.path);
    } else {
      ++neither;
      files.ignored.push_back({file.path, "its name says neither train nor validation"});
    }
  }
  for (const auto& [found, word] :
       {std::pair(&files.train, kTrain), std::pair(&files.validation, kValidation)}) {
    if (!found->empty()) continue;
    fail(ErrorKind::kData,
         "{} has no {} files: expected names with \"{}\" (found {} files whose names say train, {} "
         "validation, {} neither); with validation files in data.validation_source, all files of "
         "data.source are training files, whatever they are called",
         joined(source), word, word, files.train.size(), files.validation.size(), neither);
  }
  return files;
}

// The files of one of two roles, without those that belong to the other.
std::vector<Path> files_of_role(const std::vector<FoundFile>& own,
                                const std::vector<FoundFile>& others, std::string_view word,
                                std::string_view other_word, std::vector<IgnoredFile>* ignored) {
  std::map<Path, bool> named_there;
  for (const FoundFile& file : others) {
    named_there[std::filesystem::canonical(file.path)] |= file.named;
  }
  std::vector<Path> paths;
  for (const FoundFile& file : own) {
    if (!file.named && says(file.path, other_word) && !says(file.path, word)) {
      ignored->push_back({file.path, fmt::format("its name says {}, but {} files are requested",
                                                 other_word, word)});
      continue;
    }
    const auto there = named_there.find(std::filesystem::canonical(file.path));
    if (there != named_there.end() && there->second && !file.named) {
      ignored->push_back({file.path, fmt::format("it is named as a {} file", other_word)});
      continue;
    }
    paths.push_back(file.path);
  }
  return paths;
}

DocumentFiles split_by_setting(const std::vector<std::string>& source,
                               const std::vector<std::string>& validation_source) {
  DocumentFiles files;
  const std::vector<FoundFile> train = files_of(source, &files.ignored);
  const std::vector<FoundFile> validation = files_of(validation_source, &files.ignored);
  files.train = files_of_role(train, validation, kTrain, kValidation, &files.ignored);
  files.validation = files_of_role(validation, train, kValidation, kTrain, &files.ignored);
  std::set<Path> trained_on;
  for (const Path& path : files.train) trained_on.insert(std::filesystem::canonical(path));
  for (const Path& path : files.validation) {
    if (!trained_on.contains(std::filesystem::canonical(path))) continue;
    fail(ErrorKind::kConfig,
         "{} is both a training file (data.source) and a validation file (data.validation_source)",
         path.string());
  }
  for (const auto& [found, key, given] :
       {std::tuple(&files.train, "data.source", &source),
        std::tuple(&files.validation, "data.validation_source", &validation_source)}) {
    if (!found->empty()) continue;
    fail(ErrorKind::kData, "{} ({}) has no files of its own: {} was left out: {}", key,
         joined(*given), files.ignored.back().path.string(), files.ignored.back().reason);
  }
  return files;
}

}  // namespace

bool is_document_file(const Path& path) {
  const std::string name = path.filename().string();
  constexpr std::array<std::string_view, 4> kEndings = {".json", ".jsonl", ".json.gz", ".jsonl.gz"};
  return !name.starts_with('.') &&
         std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

DocumentFiles find_document_files(const std::vector<std::string>& source,
                                  const std::vector<std::string>& validation_source) {
  const auto is_empty = [](const std::string& entry) { return entry.empty(); };
  if (source.empty() || std::ranges::any_of(source, is_empty) ||
      std::ranges::any_of(validation_source, is_empty)) {
    fail(ErrorKind::kConfig, "no source of documents is given: expected folders, globs or files");
  }
  return validation_source.empty() ? split_by_name(source)
                                   : split_by_setting(source, validation_source);
}

}  // namespace saddle::data
