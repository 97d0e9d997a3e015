// A grid of complete trainings: its runs, their names, commands and progress. Nothing here starts a
// process; sweep_run.h does, one after another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace saddle::bench {

// One setting of the grid and its values, as typed.
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

// Plans the runs of a grid in `directory`. The name of a run is the stem of the first of `configs`
// ("sweep" without any), then for each axis the short name of its key
// (docs/guides/benchmarking.md) and the value; characters unsuitable for file names become "_".
// Every combination is loaded and checked. Errors: kUsage for no axis, a repeated key,
// runtime.output_dir as a key, and runs with the same name or settings; those of
// config::load_settings.
SweepPlan plan_sweep(const std::vector<std::string>& configs,
                     const std::vector<std::string>& overrides, const std::vector<GridAxis>& axes,
                     const Path& directory);

// Returns the words after "saddle" that train a run, or continue it.
std::vector<std::string> train_words(const SweepPlan& plan, const SweepRun& run);

enum class RunProgress { kWaiting, kUnfinished, kFinished };

// Determined by the contents of its directory: nothing, a run, or a run with its result.json.
RunProgress run_progress(const SweepRun& run);

// Writes DIR/sweep.json, by which later calls recognize the sweep: {identity, runs: [{name,
// settings}]}. The caller must hold the lock of the directory. Errors: kConfig if it already
// contains another sweep, naming the settings that differ, or this one with its axes in another
// order; kIo.
void claim_sweep_directory(const SweepPlan& plan);

// Returns the row of a run in a summary: name, directory, settings {key: value as typed}, status
// ("finished", "unfinished", "waiting") and for a finished run step, tokens, train_loss,
// subset_loss, best_loss, validation_loss, tokens_per_second and seconds from its result.json
// (null: missing or not finite). Errors: kIo, kData for a damaged result.
Json sweep_row(const SweepPlan& plan, const SweepRun& run);

// The summary.json of these rows; the same as a table for programs, and as one for people.
Json sweep_summary(const SweepPlan& plan, const Json& rows);
std::string sweep_csv(const Json& summary);
std::string sweep_table(const Json& summary);

}  // namespace saddle::bench
