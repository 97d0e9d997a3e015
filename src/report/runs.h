// The runs of a report: which there are, how each stands, and its numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "train/run_record.h"

namespace saddle::report {

// A number of a run: nothing when the run does not tell, NaN when it was not finite.
using Number = std::optional<double>;

struct Point {
  double tokens = 0;
  double value = 0;  // NaN: not finite
};
using Curve = std::vector<Point>;

enum class Status {
  kFinished,    // it wrote its result
  kRunning,     // a process holds its lock
  kStopped,     // by a signal, or without a word
  kFailed,      // by an error
  kUnreadable,  // its files are damaged
};
std::string_view name(Status status);

struct Run {
  std::string name;  // unique in a report
  Path directory;
  Status status = Status::kStopped;
  std::vector<std::string> notes;  // what a reader of its numbers should know
  train::RunRecord record;         // empty when unreadable; without updates and evaluations
  bool readable = true;
  Number step, steps;                          // updates done, and of the whole run
  Number tokens;                               // done
  Number workers;                              //
  Number train_loss;                           // last logged, nats, the mean of several workers
  Number subset_loss;                          // last evaluation of the fixed subset
  Number validation_loss;                      // of the whole split
  Number perplexity;                           // of it, else of the subset
  Number tokens_per_second;                    // of training alone
  Number elapsed_tokens_per_second;            // with evaluation and checkpoints
  Number consensus_distance;                   // of several workers, last logged
  Number peak_memory_bytes;                    //
  Number seconds;                              // in training, evaluation and checkpoints
  Curve train, subset, throughput, consensus;  // by tokens as they were logged
  std::optional<Point> validation;             // of the whole split
};

// Directories with the files of a run stand for it, others for the runs in them, one level deep and
// by name (numbers in names by value). Each run once. Errors: kIo for a path that is no directory;
// kData when none is found in one.
std::vector<Path> find_runs(const std::vector<Path>& given);

// Reads the runs; one whose files are damaged is kUnreadable, with the reason as its note.
std::vector<Run> read_runs(const std::vector<Path>& directories);

// At most `most` points: means of neighbours. One that holds a value that is not finite is NaN.
Curve thinned(const Curve& curve, size_t most);

}  // namespace saddle::report
