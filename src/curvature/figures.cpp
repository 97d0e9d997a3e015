#include "curvature/figures.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/process.h"
#include "curvature/figures_data.h"
#include "curvature/figures_script.h"
#include "curvature/figures_writer.h"
#include "curvature/results_directory.h"

namespace saddle::curvature {
namespace {

constexpr int64_t kMostTrainingNorms = 4000;
constexpr const char* kScript = "figures.gp";

Path metrics_of(const FigureOptions& options) {
  if (options.run) return *options.run / "metrics.jsonl";
  const Path manifest = options.output / "manifest.json";
  const Json json = read_json(manifest);
  if (!json.is_object() || !json.value("run", Json()).is_string()) {
    fail(ErrorKind::kData, "{}: the directory of the run is missing", manifest.string());
  }
  return Path(json["run"].get<std::string>()) / "metrics.jsonl";
}

FigureData read_data(const FigureOptions& options, Log& log) {
  if (!std::filesystem::is_directory(file_status(options.output))) {
    fail(ErrorKind::kIo, "'{}' is not a directory of results", options.output.string());
  }
  const Json cases = ResultsDirectory::cases(options.output);
  if (cases.empty()) {
    fail(ErrorKind::kData, "'{}' holds no finished case", options.output.string());
  }
  FigureData data = figure_data(cases);
  if (data.without_tokens > 0) {
    log.warn("{} of {} cases are left out: their weights do not tell how many tokens they saw",
             data.without_tokens, cases.size());
  }
  if (options.training_norms) {
    data.training = training_norms(metrics_of(options), kMostTrainingNorms);
  }
  return data;
}

// Runs the script, whose files get these names around theirs.
void run_gnuplot(const Path& directory, const std::string& prefix, const std::string& suffix) {
  const std::string names = fmt::format("prefix='{}'; suffix='{}'", prefix, suffix);
  ProcessResult result;
  try {
    ProcessOptions options;
    options.directory = directory;
    result = run_process({"gnuplot", "-e", names, kScript}, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDevice) throw;
    fail(ErrorKind::kDevice,
         "gnuplot, which draws the figures, was not found: install the package gnuplot-nox");
  }
  if (result.succeeded()) return;
  fail(ErrorKind::kDevice, "gnuplot failed on '{}': {}", (directory / kScript).string(),
       result.last_words());
}

void check_begins_with(const std::string& content, std::string_view start, const Path& file) {
  if (content.starts_with(start)) return;
  fail(ErrorKind::kDevice, "gnuplot did not draw '{}'", file.string());
}

}  // namespace

std::vector<Path> draw_figures(const FigureOptions& options, Log& log) {
  const FigureData data = read_data(options, log);
  const Path directory = options.output / "figures";
  make_directories(directory);
  const FileLock lock(directory / "lock",
                      fmt::format("drawing figures in '{}'", directory.string()));
  remove_unfinished_files(directory);
  write_file_atomically(directory / kFigureData, figure_data_text(data));
  write_file_atomically(directory / kScript, figure_script(data));
  // Under names that a killed process leaves to remove_unfinished_files().
  const std::string suffix = fmt::format(".tmp-{}-0", ::getpid());
  run_gnuplot(directory, ".", suffix);
  std::vector<Path> files;
  for (const std::string& name : figure_names(data)) {
    for (const std::string_view kind : {"png", "pdf"}) {
      const std::string file = fmt::format("{}.{}", name, kind);
      const Path drawn = directory / fmt::format(".{}{}", file, suffix);
      const std::string content = read_file(drawn);
      check_begins_with(content, kind == "png" ? "\x89PNG" : "%PDF", directory / file);
      write_file_atomically(directory / file, content);
      std::error_code ignored;  // it only takes space
      std::filesystem::remove(drawn, ignored);
      files.push_back(directory / file);
    }
  }
  return files;
}

}  // namespace saddle::curvature
