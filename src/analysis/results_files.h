// Reading the files of a directory of results (results_directory.h).
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace saddle::analysis {

inline constexpr const char* kAnalysisFormat = "saddle analysis 1";

struct CaseFile {
  Path path;
  Json content;
};

// The case files of a directory, in the order of tokens, names and cases. All fields that tables
// and figures use have the right type. Errors: kIo; kData for a damaged file.
std::vector<CaseFile> read_case_files(const Path& directory);
void sort_case_files(std::vector<CaseFile>& files);

// The contents of a manifest.json of this format.
struct AnalysisManifest {
  Json identity;                  // an object
  Json records = Json::object();  // of the cases, by file name
};
// Errors: kIo; kData for a file of another format or a damaged one.
AnalysisManifest read_analysis_manifest(const Path& path);

// Sorted. Errors: kIo.
std::vector<std::string> names_in_directory(const Path& directory);

}  // namespace saddle::analysis
