#include "analysis/results_files.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <tuple>

#include "base/error.h"
#include "curvature/data_case_kind.h"

namespace saddle::analysis {
namespace {

bool is_case_file(const std::string& name) {
  for (const curvature::DataCaseKind kind :
       {curvature::DataCaseKind::kSeen, curvature::DataCaseKind::kUnseen}) {
    const std::string end = fmt::format(".{}.json", curvature::data_case_name(kind));
    if (!name.starts_with(".") && name.size() > end.size() && name.ends_with(end)) return true;
  }
  return false;
}

Json read_record(const Path& path) {
  Json json = read_json(path);
  if (!json.is_object() || json.value("format", Json()) != kAnalysisFormat) {
    fail(ErrorKind::kData, "{}: a file of the format '{}' was expected", path.string(),
         kAnalysisFormat);
  }
  return json;
}

// The list at a key of an object; empty if there is none, null if it is not a list.
Json list_at(const Json& object, const char* key) {
  const Json list = object.value(key, Json::array());
  return list.is_array() ? list : Json();
}

bool all_are_objects(const Json& list) {
  return list.is_array() && std::ranges::all_of(list, [](const Json& x) { return x.is_object(); });
}

bool is_whole_density(const Json& start) {
  const Json nodes = list_at(start, "nodes"), weights = list_at(start, "weights");
  return nodes.is_array() && weights.is_array() && nodes.size() == weights.size();
}

bool is_whole_spectrum(const Json& spectrum) {
  if (!spectrum.is_object()) return false;
  const Json density = list_at(spectrum, "density");
  return all_are_objects(list_at(spectrum, "top_eigenvalues")) && all_are_objects(density) &&
         std::ranges::all_of(density, is_whole_density);
}

bool is_whole_checkpoint(const Json& checkpoint) {
  const Json names = list_at(checkpoint, "names");
  return names.is_array() && !names.empty() &&
         std::ranges::all_of(names, [](const Json& name) { return name.is_string(); }) &&
         checkpoint.value("weights_sha256", Json()).is_string() && checkpoint.contains("tokens");
}

Json read_case(const Path& path) {
  Json json = read_record(path);
  for (const char* key : {"identity", "checkpoint", "epoch", "statistics"}) {
    if (!json.contains(key) || !json[key].is_object()) {
      fail(ErrorKind::kData, "{}: \"{}\" is missing", path.string(), key);
    }
  }
  if (!is_whole_checkpoint(json["checkpoint"]) || !json.value("case", Json()).is_string()) {
    fail(ErrorKind::kData, "{}: checkpoint or case is damaged", path.string());
  }
  if (json.contains("spectrum") && !is_whole_spectrum(json["spectrum"])) {
    fail(ErrorKind::kData, "{}: the spectrum is damaged", path.string());
  }
  return json;
}

auto place_in_order(const Json& content) {
  const Json& checkpoint = content["checkpoint"];
  const Json& tokens = checkpoint["tokens"];
  return std::tuple(
      tokens.is_number() ? tokens.get<double>() : std::numeric_limits<double>::infinity(),
      checkpoint["names"][0].get<std::string>(), content["case"].get<std::string>());
}

}  // namespace

std::vector<std::string> names_in_directory(const Path& directory) {
  std::vector<std::string> names;
  std::error_code code;
  for (std::filesystem::directory_iterator at(directory, code), end; !code && at != end;
       at.increment(code)) {
    names.push_back(at->path().filename().string());
  }
  if (code) fail(ErrorKind::kIo, "cannot list '{}': {}", directory.string(), code.message());
  std::ranges::sort(names);
  return names;
}

void sort_case_files(std::vector<CaseFile>& files) {
  std::ranges::stable_sort(files, [](const CaseFile& a, const CaseFile& b) {
    return place_in_order(a.content) < place_in_order(b.content);
  });
}

std::vector<CaseFile> read_case_files(const Path& directory) {
  std::vector<CaseFile> files;
  for (const std::string& name : names_in_directory(directory)) {
    if (is_case_file(name)) files.push_back({directory / name, read_case(directory / name)});
  }
  sort_case_files(files);
  return files;
}

AnalysisManifest read_analysis_manifest(const Path& path) {
  const Json json = read_record(path);
  AnalysisManifest manifest{.identity = json.value("identity", Json::object())};
  const Json cases = list_at(json, "cases");
  if (!manifest.identity.is_object() || !all_are_objects(cases)) {
    fail(ErrorKind::kData, "{}: the identity or the list of cases is damaged", path.string());
  }
  for (const Json& record : cases) {
    const Json file = record.value("file", Json());
    if (file.is_string()) manifest.records[file.get<std::string>()] = record;
  }
  return manifest;
}

}  // namespace saddle::analysis
