// Finds the files that contain the documents of each split.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace saddle::data {

struct IgnoredFile {
  Path path;
  std::string reason;  // in words, for messages
};

struct DocumentFiles {
  std::vector<Path> train;
  std::vector<Path> validation;
  std::vector<IgnoredFile> ignored;
};

// The document files that `source` names. Each entry is a folder (its .json and .jsonl files, with
// or without .gz, but none of its subfolders), one file, or a glob pattern; the name of an existing
// file is never a pattern, whatever characters it contains.
//
// Without `validation_source` the file names give the split: "train" or "validation". With it,
// every file of `source` is a training file and every file of `validation_source` one for
// validation. A folder or pattern leaves out files whose names contain only the other split, and
// files that the other setting names individually.
//
// Each list is sorted by file name and contains each path once, so that the same files give the
// same cache, however they are named. Errors, of kind kData unless noted: an entry without files, a
// split without files, a name that contains both splits, a file compressed with something other
// than gzip; of kind kConfig: no source, a file in both splits.
DocumentFiles find_document_files(const std::vector<std::string>& source,
                                  const std::vector<std::string>& validation_source = {});

// True if the name has an ending for JSON lines, compressed or not.
bool is_document_file(const Path& path);

}  // namespace saddle::data
