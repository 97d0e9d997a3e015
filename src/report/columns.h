// The columns of the table of a report: on the terminal, in report.csv, report.json and the page.
#pragma once

#include <string>
#include <vector>

#include "report/runs.h"

namespace saddle::report {

struct Column {
  const char* key;    // in files for programs
  const char* title;  // for people
  const char* meaning;
  Number (*value)(const Run& run);
  std::string (*text)(double value);
  bool lower_is_better = false;
};

// The columns for which at least one run has a number; losses and rates always.
std::vector<Column> columns(const std::vector<Run>& runs);

// "-" for a missing number, "not finite" for NaN.
std::string cell_text(const Column& column, const Run& run);

// "12 / 480"
std::string step_text(const Run& run);

std::string grouped(double value);  // 1,234,567

// The table for people.
std::string terminal_table(const std::vector<Run>& runs);
// One line per run, with a header line; missing numbers are empty, numbers that are not finite are
// nan.
std::string csv_text(const std::vector<Run>& runs);
// An array of objects; null for a number that is missing or not finite.
Json rows_json(const std::vector<Run>& runs);

}  // namespace saddle::report
