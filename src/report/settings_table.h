// What the settings of several runs have in common, and what they differ in.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/runs.h"

namespace saddle::report {

struct DifferingSetting {
  std::string key;                  // optimizer.lr, or what a record of the program is called
  bool decides_numbers = false;     // else it is about place and speed
  std::vector<std::string> values;  // as YAML, one for each run; empty: not known
};

struct SettingsTable {
  std::vector<DifferingSetting> differing;                  // those that decide numbers first
  std::vector<std::pair<std::string, std::string>> common;  // key, value
};

// Of the runs that are readable; runtime.output_dir, which always differs, is left out. Program,
// data and machine are compared too.
SettingsTable compare_settings(const std::vector<Run>& runs);

}  // namespace saddle::report
