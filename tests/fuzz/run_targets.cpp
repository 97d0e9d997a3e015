// The files of runs and of analyses.
#include <algorithm>
#include <array>

#include "analysis/figures_data.h"
#include "analysis/results_files.h"
#include "analysis/results_summary.h"
#include "base/log.h"
#include "config/load.h"
#include "fuzz/targets.h"
#include "report/charts.h"
#include "report/columns.h"
#include "report/page.h"
#include "report/settings_table.h"
#include "train/compare_runs.h"
#include "train/metrics.h"

namespace saddle::fuzz {
namespace {

// Writes those of the files that have one of these names.
template <size_t N>
void write_files(std::string_view bytes, const std::array<std::string_view, N>& names,
                 const Scratch& scratch) {
  scratch.clear();
  for (const auto& [name, content] : files_in(bytes)) {
    if (std::ranges::find(names, name) != names.end()) scratch.write(name, content);
  }
}

// A run compared with itself: no number differs.
void check_no_difference(const Json& compared) {
  if (!compared.is_object()) return;
  for (const auto& [key, value] : compared.items()) {
    if (key == "difference") {
      require(value.is_null() || value == 0.0, "a run differs from itself");
    } else {
      check_no_difference(value);
    }
  }
}

void check_report(const std::vector<report::Run>& runs) {
  for (const report::Run& run : runs) {
    for (const std::string& note : run.notes) {
      require(note.find("json.exception") == std::string::npos, note);
    }
  }
  report::terminal_table(runs);
  report::csv_text(runs);
  parse_json(json_text(report::rows_json(runs)), "rows");
  report::page_html({runs, report::make_charts(runs), report::compare_settings(runs), "/", {}});
}

// Cutting again what was cut changes nothing.
void check_cut(const Path& metrics) {
  Log log = Log::silent();
  train::RunState state;
  state.step = 2;
  state.evaluated_epochs = 1;
  train::cut_metrics(metrics, state, log);
  if (!std::filesystem::exists(metrics)) return;
  const std::string once = read_file(metrics);
  train::cut_metrics(metrics, state, log);
  require(read_file(metrics) == once, "metrics that were cut are cut again");
}

}  // namespace

void run(std::string_view bytes, Scratch& scratch) {
  constexpr std::array<std::string_view, 5> kNames = {"resolved.yaml", "environment.json",
                                                      "metrics.jsonl", "result.json", "run.log"};
  write_files(bytes, kNames, scratch);
  const Path& directory = scratch.directory();
  const Path metrics = scratch.path("metrics.jsonl");
  if (!std::filesystem::exists(scratch.path("resolved.yaml"))) {
    scratch.write("resolved.yaml", "training: {max_tokens: 65536, epoch_tokens: 32768}\n");
  }
  accepts([&] {
    const Json compared = train::compare_runs(directory, directory);
    check_no_difference(compared);
    require(compared["differences"]["numbers"].empty(), "the settings of one run differ");
    train::comparison_text(compared);
  });
  check_report(report::read_runs({directory}));
  if (!std::filesystem::exists(metrics)) return;
  require(analysis::training_norms(metrics, 3).size() <= 3, "more norms than requested");
  accepts([&] { check_cut(metrics); });
}

void analysis(std::string_view bytes, Scratch& scratch) {
  constexpr std::array<std::string_view, 4> kNames = {"a.seen.json", "a.unseen.json", "b.seen.json",
                                                      "manifest.json"};
  write_files(bytes, kNames, scratch);
  accepts([&] { analysis::read_analysis_manifest(scratch.path("manifest.json")); });
  accepts([&] {
    Json cases = Json::array();
    for (analysis::CaseFile& file : analysis::read_case_files(scratch.directory())) {
      cases.push_back(std::move(file.content));
    }
    analysis::summary_csv(cases);
    analysis::summary_text(cases);
    analysis::figure_data_text(analysis::figure_data(cases));
  });
}

}  // namespace saddle::fuzz
