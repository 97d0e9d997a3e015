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
  Path output;             // made when missing
};

struct ReportOutcome {
  std::string table;  // for people
  Path page;
  std::optional<Error> no_figures{};  // why they could not be drawn: kDevice
};

// Only reads the runs, which may be running. Writes to the output, each file whole or not at all:
//
//   report.html           the page, which needs no other file
//   report.csv            a line for each run
//   report.json           the same, with the settings that differ
//   figures/              train_loss, validation_loss, throughput and, with several workers,
//                         consensus_distance, each as .png and .pdf; figures.dat and figures.gp,
//                         from which gnuplot draws them
//
// A report that is there already is replaced; no other file is touched. Errors: those of find_runs;
// kConfig when a file of one of these names is there that no report made; kIo. When
// gnuplot is missing or fails, the page and the tables are written all the same, figures of an
// earlier report stay, and the outcome says why.
ReportOutcome write_report(const ReportOptions& options, Log& log);

}  // namespace saddle::report
