#include "data/dataset.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/gzip_file.h"

namespace saddle::data {

namespace {

// English C4: T5's cleaned Common Crawl as the Allen Institute for AI publishes it.
constexpr std::array<PublishedDataset, 1> kDatasets = {{{.name = "c4",
                                                         .repository = "allenai/c4",
                                                         .folder = "en",
                                                         .train_files = 1024,
                                                         .validation_files = 8}}};

// A branch, tag or commit that is one part of a URL and one folder.
void check_revision(const std::string& revision) {
  constexpr std::string_view kOthers = "._-";
  const bool plain = std::ranges::all_of(revision, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOthers.find(c) != std::string_view::npos;
  });
  if (revision.empty() || revision.starts_with('.') || !plain) {
    fail(ErrorKind::kConfig,
         "data.revision must be a branch, tag or commit of letters, digits, '.', '_' and '-', "
         "found \"{}\"",
         revision);
  }
}

std::string checked_base(std::string url) {
  if (!url.starts_with("https://") && !url.starts_with("http://")) {
    // Without a scheme, a login in it would not be recognized and hidden.
    const size_t login = url.find("://") == std::string::npos ? url.rfind('@') : std::string::npos;
    fail(ErrorKind::kConfig, "data.base_url must begin with https:// (or http://), found \"{}\"",
         login == std::string::npos ? url : "***" + url.substr(login));
  }
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

PublishedDataset find_dataset(const std::string& name) {
  std::string known;
  for (const PublishedDataset& dataset : kDatasets) {
    if (dataset.name == name) return dataset;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", dataset.name);
  }
  fail(ErrorKind::kConfig, "data.dataset is \"{}\", but the published datasets known here are: {}",
       name, known);
}

std::string file_name(const PublishedDataset& dataset, Split split, int64_t index) {
  const int64_t count = split == Split::kTrain ? dataset.train_files : dataset.validation_files;
  return fmt::format("{}-{}.{:05}-of-{:05}.json.gz", dataset.name, split_name(split), index, count);
}

DatasetFiles::DatasetFiles(const PublishedDataset& dataset, const std::string& revision,
                           Split split, const DatasetOptions& options, Log* log)
    : dataset_(dataset),
      split_(split),
      directory_(options.directory / std::string(dataset.name) / revision),
      download_(options.download),
      log_(log),
      bytes_(static_cast<size_t>(count())) {
  check_revision(revision);
  url_ = fmt::format("{}/datasets/{}/resolve/{}/{}", checked_base(options.base_url),
                     dataset.repository, revision, dataset.folder);
  download_.http.stop = [this, outer = options.download.http.stop] {
    return cancelled_ || (outer && outer());
  };
}

int64_t DatasetFiles::count() const {
  return split_ == Split::kTrain ? dataset_.train_files : dataset_.validation_files;
}

Path DatasetFiles::fetch(int64_t index) {
  Path path = directory_ / name(index);
  if (!is_there(path)) {
    const std::string url = url_ + "/" + name(index);
    const RemoteFile remote = describe_url(url, download_, log_);
    if (!remote.bytes && remote.sha256.empty()) {
      log_->warn("the server states neither size nor hash of {}: only gzip's checksum is checked",
                 url);
    }
    const DownloadResult result = download_file({.url = url,
                                                 .destination = path,
                                                 .bytes = remote.bytes,
                                                 .sha256 = remote.sha256,
                                                 .gzip = true},
                                                download_, log_);
    log_->info("{}: {} bytes{}", path.string(), result.bytes,
               remote.sha256.empty() ? "" : ", with the SHA-256 that the server states");
  }
  const int64_t bytes = InputFile(path).size();
  const std::lock_guard lock(mutex_);
  bytes_[static_cast<size_t>(index)] = bytes;
  return path;
}

bool DatasetFiles::is_there(const Path& path) const {
  if (!std::filesystem::is_regular_file(file_status(path))) return false;
  const std::string fault = gzip_beginning_fault(path);
  if (fault.empty()) return true;
  log_->warn("{} is downloaded again: {}", path.string(), fault);
  return false;
}

int64_t DatasetFiles::total_bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  int64_t known = 0;
  for (const int64_t bytes : bytes_) {
    sum += bytes;
    known += bytes > 0 ? 1 : 0;
  }
  if (known == 0 || known == count()) return sum;
  return sum / known * count();
}

bool DatasetFiles::matches(int64_t index, const SourceRecord& record) const {
  return record.name == name(index);
}

}  // namespace saddle::data
