// The common and the differing settings of several runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/runs.h"

namespace saddle::report {

struct DifferingSetting {
  std::string key;                  // optimizer.lr, or the name of a record of the program
  bool decides_numbers = false;     // false: concerns only directories and speed
  std::vector<std::string> values;  // as YAML, one per run; empty: unknown
};

struct SettingsTable {
  std::vector<DifferingSetting> differing;                  // those that decide numbers first
  std::vector<std::pair<std::string, std::string>> common;  // key, value
};

// Compares the readable runs, including program, data and machine. runtime.output_dir, which always
// differs, is omitted.
SettingsTable compare_settings(const std::vector<Run>& runs);

}  // namespace saddle::report
