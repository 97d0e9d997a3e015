// The datasets that prepare knows by name, and how to get their files.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "data/cache.h"
#include "data/download.h"
#include "data/file_sequence.h"

namespace saddle::data {

// Where and how a published dataset is downloaded.
struct DatasetOptions {
  std::string base_url = "https://huggingface.co";  // http:// only where no one else can listen
  Path directory = "downloads";                     // keeps the files, under DATASET/REVISION
  DownloadOptions download = {};
};

// A dataset whose files are at BASE/datasets/REPOSITORY/resolve/REVISION/FOLDER/FILE.
struct PublishedDataset {
  std::string_view name;
  std::string_view repository;
  std::string_view folder;
  int64_t train_files;
  int64_t validation_files;
};

// The dataset of that name; if there is none, an Error of kind kConfig that lists those known.
PublishedDataset find_dataset(const std::string& name);

// c4-train.00000-of-01024.json.gz, ...
std::string file_name(const PublishedDataset& dataset, Split split, int64_t index);

// The files of one split. fetch() downloads a file that is not in the directory yet. A file that is
// already there was checked when it was downloaded; it is used without network access unless its
// first bytes are not those of gzip. A download is checked against the size and the SHA-256 that
// the server states, and must be gzip data. Errors: kConfig for a base URL that is neither https
// nor http and for an invalid revision; otherwise those of download_file().
class DatasetFiles : public FileSequence {
 public:
  DatasetFiles(const PublishedDataset& dataset, const std::string& revision, Split split,
               const DatasetOptions& options, Log* log);

  int64_t count() const override;
  std::string name(int64_t index) const override { return file_name(dataset_, split_, index); }
  Path fetch(int64_t index) override;
  int64_t total_bytes() const override;
  bool matches(int64_t index, const SourceRecord& record) const override;
  void cancel() override { cancelled_ = true; }

 private:
  bool is_there(const Path& path) const;

  PublishedDataset dataset_;
  Split split_;
  std::string url_;  // of the folder
  Path directory_;
  DownloadOptions download_;
  Log* log_;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  std::vector<int64_t> bytes_;  // of each file, 0 until it is here
};

}  // namespace saddle::data
