// The runs of a report, with their states and numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "train/run_record.h"

namespace saddle::report {

// A number of a run: nothing if it is missing, NaN if it was not finite.
using Number = std::optional<double>;

struct Point {
  double tokens = 0;
  double value = 0;  // NaN: not finite
};
using Curve = std::vector<Point>;

enum class Status {
  kFinished,    // it wrote its result
  kRunning,     // a process holds its lock
  kStopped,     // by a signal, or without a message
  kFailed,      // by an error
  kUnreadable,  // its files are damaged
};
std::string_view name(Status status);

struct Run {
  std::string name;  // unique in a report
  Path directory;
  Status status = Status::kStopped;
  std::vector<std::string> notes;  // for the reader of its numbers
  train::RunRecord record;         // empty when unreadable; without updates and evaluations
  bool readable = true;
  Number step, steps;                          // updates done, and of the whole run
  Number tokens;                               // done
  Number workers;                              //
  Number train_loss;                           // last logged, nats; the mean of several workers
  Number subset_loss;                          // last evaluation of the fixed subset
  Number validation_loss;                      // of the whole split
  Number perplexity;                           // of validation_loss, else of subset_loss
  Number tokens_per_second;                    // of training only
  Number elapsed_tokens_per_second;            // with evaluation and checkpoints
  Number consensus_distance;                   // of several workers, last logged
  Number peak_memory_bytes;                    //
  Number seconds;                              // in training, evaluation and checkpoints
  Curve train, subset, throughput, consensus;  // by tokens as they were logged
  std::optional<Point> validation;             // of the whole split
};

// A directory with the files of a run is that run; any other stands for the runs in it, one level
// deep, sorted by name (numbers in names by value). Each run is listed once. Errors: kIo for a path
// that is not a directory; kData if a directory has no run.
std::vector<Path> find_runs(const std::vector<Path>& given);

// Reads the runs. A run with damaged files is kUnreadable, with the reason as its note.
std::vector<Run> read_runs(const std::vector<Path>& directories);

// At most `most` points: means of neighbouring points, NaN if one of those is not finite.
Curve thinned(const Curve& curve, size_t most);

}  // namespace saddle::report
