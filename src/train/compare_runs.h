// Two runs side by side: the differences of their settings, their throughput and their losses.
#pragma once

#include <string>

#include "base/files.h"
#include "base/json.h"

namespace saddle::train {

// Reads both run directories (run_record.h). The record (numbers that are missing or not finite
// are null):
//
//   runs         a and b: directory, finished, step, tokens
//   differences  numbers and execution: settings that differ, [{key, a, b}], that decide a run's
//                numbers or only its place and speed; data: identities of the token caches, a, b
//                and same (null if a run has no record of it); source, machine: [{key, a, b}]
//   same_work    whether the runs differ only in execution settings: true, false, or null if the
//                settings agree but the data of a run is not known
//   seed         a and b; runs of the same work also read the same blocks in the same order
//   throughput   each {a, b, ratio}: tokens_per_second_median (of the logged updates),
//                tokens_per_second (aggregate, without evaluation and checkpoints),
//                elapsed_tokens_per_second (with them), evaluation_tokens_per_second
//   losses       each {a, b, difference}: train (last logged), subset (last evaluation), best,
//                validation (the whole split); train_curve: updates that both logged, the first of
//                them {step, difference} and the largest difference of the losses
//   seconds, peak_memory_bytes   each {a, b, ratio}
//
// ratio is b / a, difference b - a. Errors: those of read_run.
Json compare_runs(const Path& a, const Path& b);

// The record as tables for human readers.
std::string comparison_text(const Json& record);

}  // namespace saddle::train
