#include "report/report.h"

#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "plot/figure_writer.h"
#include "report/columns.h"
#include "report/figures.h"
#include "report/page.h"

namespace saddle::report {
namespace {

constexpr const char* kFormat = "saddle report 1";
constexpr const char* kRecord = "report.json";
constexpr const char* kConsensus = "consensus_distance";

bool is_there(const Path& path) {
  return std::filesystem::exists(file_status(path));
}

// Whether report.json was written by saddle.
bool holds_report(const Path& output) {
  if (!is_there(output / kRecord)) return false;
  const Json record = Json::parse(read_file(output / kRecord), nullptr, false);
  return record.is_object() && record.value("format", Json()) == kFormat;
}

void check_output(const Path& output) {
  if (holds_report(output)) return;
  for (const char* name : {"report.html", "report.csv", kRecord, "figures"}) {
    if (is_there(output / name)) {
      fail(ErrorKind::kConfig,
           "'{}' exists and was not made by a report: choose another directory for --output",
           (output / name).string());
    }
  }
}

Json record_of(const std::vector<Run>& runs, const SettingsTable& settings) {
  Json differing = Json::array();
  for (const DifferingSetting& setting : settings.differing) {
    Json values = Json::array();
    for (const std::string& value : setting.values) values.push_back(value);
    differing.push_back(
        {{"key", setting.key}, {"decides_numbers", setting.decides_numbers}, {"values", values}});
  }
  return {{"format", kFormat},
          {"made", utc_timestamp()},
          {"runs", rows_json(runs)},
          {"differing_settings", differing}};
}

}  // namespace

ReportOutcome write_report(const ReportOptions& options, Log& log) {
  const std::vector<Run> runs = read_runs(find_runs(options.runs));
  const SettingsTable settings = compare_settings(runs);
  const std::vector<Chart> charts = make_charts(runs);
  const Path& output = options.output;
  make_directories(output);
  check_output(output);
  // Written first, so that everything written later is recognized as part of a report.
  write_json(output / kRecord, record_of(runs, settings));
  write_file_atomically(output / "report.csv", csv_text(runs));
  std::vector<Path> drawn;
  std::optional<Error> failure;
  try {
    const plot::FigureSet figures = figure_set(charts, runs);
    drawn = plot::draw_figures(output / "figures", figures);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDevice) throw;
    failure = error;
  }
  // From an earlier report of several workers.
  const bool several = charts.back().name == kConsensus;
  for (const char* kind : {".png", ".pdf"}) {
    if (!several) std::filesystem::remove(output / "figures" / (std::string(kConsensus) + kind));
  }
  const Path page = output / "report.html";
  write_file_atomically(page, page_html({runs, charts, settings, output, drawn}));
  if (failure) log.warn("'{}' is written without figures", page.string());
  return {terminal_table(runs), page, failure};
}

}  // namespace saddle::report
