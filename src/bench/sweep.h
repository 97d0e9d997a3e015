// A grid of complete trainings: which runs there are, how each is named and started, and how far
// each is. Nothing here starts a process; sweep_run.h does, one after another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace saddle::bench {

// One setting of the grid and the values that it takes, as they were typed.
struct GridAxis {
  std::string key;
  std::vector<std::string> values;
};

// Reads "optimizer.lr=0.0003,0.001"; commas inside [] belong to a value. Errors: kUsage.
GridAxis parse_axis(std::string_view text);

struct SweepRun {
  std::string name;                 // 20m-lr0.001-wd0.1
  std::vector<std::string> values;  // of each axis
  Path directory;                   // DIR/NAME
};

struct SweepPlan {
  std::vector<std::string> settings_words;  // --config FILE ... --set KEY=VALUE ..., of every run
  std::vector<GridAxis> axes;
  std::vector<SweepRun> runs;  // the last axis changes fastest
  Path directory;
  Json identity;  // the recipe without the keys of the grid, config: the stem, grid.KEY: values
};

// The runs of a grid in `directory`. A run's name is the stem of the first of `configs` ("sweep"
// without any), then for each axis the short name of its key (docs/guides/benchmarking.md) and the
// value; what could not stand in a file name becomes "_". Every combination is loaded and checked.
// Errors: kUsage for no axis, a key that comes twice, runtime.output_dir as a key, and runs of one
// name or of the same settings; those of config::load_settings.
SweepPlan plan_sweep(const std::vector<std::string>& configs,
                     const std::vector<std::string>& overrides, const std::vector<GridAxis>& axes,
                     const Path& directory);

// The words after "saddle" that train a run, or continue it where it was.
std::vector<std::string> train_words(const SweepPlan& plan, const SweepRun& run);

enum class RunProgress { kWaiting, kUnfinished, kFinished };

// By what is in its directory: nothing, a run, or a run with its result.json.
RunProgress run_progress(const SweepRun& run);

// Writes DIR/sweep.json, by which later calls know the sweep: {identity, runs: [{name, settings}]}.
// To be called under the lock of the directory. Errors: kConfig when it already holds another
// sweep, with the names of the settings that differ, or this one with its axes in another order;
// kIo.
void claim_sweep_directory(const SweepPlan& plan);

// The row of a run in a summary: name, directory, settings {key: value as typed}, status
// ("finished", "unfinished", "waiting") and of a finished run steps, tokens, train_loss,
// subset_loss, best_loss, validation_loss, tokens_per_second and seconds of its result.json (null:
// not there or not finite). Errors: kIo, kData for a damaged result.
Json sweep_row(const SweepPlan& plan, const SweepRun& run);

// summary.json of rows, the same as a table for programs, and for people.
Json sweep_summary(const SweepPlan& plan, const Json& rows);
std::string sweep_csv(const Json& summary);
std::string sweep_table(const Json& summary);

}  // namespace saddle::bench
