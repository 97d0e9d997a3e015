// `saddle report`: losses and throughput of many runs, as a table, figures and a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"

namespace saddle::report {

struct ReportOptions {
  std::vector<Path> runs;  // runs, and directories that hold runs (find_runs)
  Path output;             // created if missing
};

struct ReportOutcome {
  std::string table;  // for people
  Path page;
  std::optional<Error> no_figures{};  // why they could not be drawn: kDevice
};

// Only reads the runs, which may still be running. Writes to the output, each file whole or not at
// all:
//
//   report.html           the page, which needs no other file
//   report.csv            one line per run
//   report.json           the same, with the settings that differ
//   figures/              train_loss, validation_loss, throughput and, with several workers,
//                         consensus_distance, each as .png and .pdf; figures.dat and figures.gp
//                         are gnuplot's data and script
//
// An existing report is replaced; no other file is changed. Errors: those of find_runs; kConfig if
// a file with one of these names was not made by a report; kIo. If gnuplot is missing or fails, the
// page and the tables are still written, figures of an earlier report stay, and the outcome says
// why.
ReportOutcome write_report(const ReportOptions& options, Log& log);

}  // namespace saddle::report
