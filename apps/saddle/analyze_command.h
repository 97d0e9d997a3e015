// The options of an analysis, for the commands that start one.
#pragma once

#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "commands.h"

namespace saddle::app {

struct AnalyzeValues {
  analysis::AnalysisOptions options;
  std::string run_directory, output, cache;
  std::string data_case = "both", noise_samples = "32";
  std::string method = "adjoint-weighted", dtype = "float32";
  std::vector<std::string> directions;
  std::vector<std::string> between;  // A, B, A, B, ...
  bool no_consensus = false;

  // Errors: kUsage.
  analysis::AnalysisOptions resolved() const;
};

// Adds --run, --output, --checkpoints, --data-case, --cache, and the options of the measurement.
void add_analysis_options(CLI::App& command, AnalyzeValues& values);

}  // namespace saddle::app
