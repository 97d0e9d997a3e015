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
  bool telemetry = false;  // also FILE.telemetry.csv, until the end of the measurement; not beside
                           // what is no ordinary file
};

// The trace beside the record FILE.json: FILE.trace.json.
Path trace_path(const Path& output);
// FILE.telemetry.csv.
Path telemetry_path(const Path& output);

// Measures in this process, then writes the record, whole, to options.output and returns it; its
// fields are described in docs/guides/benchmarking.md. No record is written, and nothing returned,
// when `stop` gave a signal. Errors: kUsage for a negative number of updates or windows without
// any, and for a profile beside what is no ordinary file; those of UpdateSource and
// UpdateRunner::run: kNumeric when a loss or gradient norm is not finite; kIo, for an output that
// cannot be written before anything is measured.
std::optional<Json> measure_worker(const config::Settings& settings, const WorkerOptions& options,
                                   const std::function<int()>& stop, Log& log);

// What a record says, for people.
std::string worker_text(const Json& record);

}  // namespace saddle::bench
