// The rate of the production update: data loading, forward, backward, norm, finite checks,
// clipping, AdamW and mixing, by the classes that training uses, on full batches, without
// evaluations or checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "bench/update_source.h"
#include "config/settings.h"

namespace saddle::bench {

struct WorkerOptions {
  DataMode data_mode = DataMode::kReal;
  int64_t warmup = 20;  // updates
  int64_t steps = 100;  // updates of a window
  int64_t windows = 3;
  bool profile = false;      // a few updates after the timed ones
  int64_t peak_size = 2048;  // rows and columns of the product whose rate is the peak
  Path output;               // the record; FILE.json has its trace in FILE.trace.json
  bool telemetry = false;    // also FILE.telemetry.csv, until the end of the measurement; only next
                             // to a regular file
};

// The trace of the record FILE.json: FILE.trace.json.
Path trace_path(const Path& output);
// FILE.telemetry.csv.
Path telemetry_path(const Path& output);

// Measures in this process, then writes the record atomically to options.output and returns it; its
// fields are described in docs/guides/benchmarking.md. If `stop` gave a signal, writes no record
// and returns nothing. Errors: kUsage for a negative number of updates or windows without any, and
// for a profile if the output is not a regular file; those of UpdateSource and UpdateRunner::run;
// kNumeric if a loss or gradient norm is not finite; kIo, before the measurement if the output
// cannot be written.
std::optional<Json> measure_worker(const config::Settings& settings, const WorkerOptions& options,
                                   const std::function<int()>& stop, Log& log);

// The contents of a record, for people.
std::string worker_text(const Json& record);

}  // namespace saddle::bench
