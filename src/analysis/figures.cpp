#include "analysis/figures.h"

#include <filesystem>
#include <string>

#include "analysis/figures_data.h"
#include "analysis/figures_script.h"
#include "analysis/results_directory.h"
#include "base/error.h"
#include "plot/gnuplot.h"

namespace saddle::analysis {
namespace {

constexpr int64_t kMostTrainingNorms = 4000;

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
    log.warn(
        "{} of {} cases are omitted: their files do not say how many tokens they were trained on",
        data.without_tokens, cases.size());
  }
  if (options.training_norms) {
    data.training = training_norms(metrics_of(options), kMostTrainingNorms);
  }
  return data;
}

}  // namespace

std::vector<Path> draw_figures(const FigureOptions& options, Log& log) {
  const FigureData data = read_data(options, log);
  const Path directory = options.output / "figures";
  return plot::draw_figures(
      directory,
      {.data = figure_data_text(data), .script = figure_script(data), .names = figure_names(data)});
}

}  // namespace saddle::analysis
