#include "report/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "report/run_ending.h"
#include "train/epochs.h"

namespace saddle::report {
namespace {

// In a file of a run null is a number that was not finite.
Number number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  return value.is_null() ? Number(NAN) : Number();
}

Number field(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) return std::nullopt;
  return number_of(object[key]);
}

// Here null is the reader's value for a missing number.
Number known(const Json& value) {
  return value.is_number() ? Number(value.get<double>()) : Number();
}

Number last_field(const std::vector<Json>& lines, const char* key) {
  return lines.empty() ? Number() : field(lines.back(), key);
}

Curve curve_of(const std::vector<Json>& lines, const char* key) {
  Curve curve;
  for (const Json& line : lines) {
    const Number tokens = field(line, "tokens"), value = field(line, key);
    if (tokens && value && std::isfinite(*tokens)) curve.push_back({*tokens, *value});
  }
  std::ranges::stable_sort(curve, {}, &Point::tokens);
  return curve;
}

void note_not_finite(const Curve& curve, const char* what, std::vector<std::string>& notes) {
  const auto count =
      std::ranges::count_if(curve, [](const Point& point) { return !std::isfinite(point.value); });
  if (count == 0) return;
  notes.push_back(fmt::format("{} of {} {} not finite", count, curve.size(),
                              fmt::format("{} {}", what, count == 1 ? "is" : "are")));
}

void read_numbers(Run& run) {
  const train::RunRecord& record = run.record;
  const train::EpochPlan plan(record.settings);
  run.step = known(train::steps_done(record));
  run.steps = static_cast<double>(plan.total_updates());
  run.tokens = known(train::tokens_done(record));
  run.workers = static_cast<double>(record.settings.decentralized.num_models);
  run.train_loss = last_field(record.updates, "loss");
  run.subset_loss = last_field(record.evaluations, "loss");
  run.validation_loss = field(record.validation, "loss");
  run.perplexity = field(record.validation, "perplexity");
  if (!run.perplexity) run.perplexity = last_field(record.evaluations, "perplexity");
  run.tokens_per_second = known(train::training_rate(record));
  run.elapsed_tokens_per_second = known(train::elapsed_rate(record));
  run.consensus_distance = last_field(record.updates, "consensus_distance");
  run.peak_memory_bytes = field(record.result, "peak_memory_bytes");
  run.seconds = last_field(record.updates, "seconds");
  if (const Json& seconds = train::json_at(record.result, {"seconds"}); seconds.is_object()) {
    const Number training = field(seconds, "training"), evaluation = field(seconds, "evaluation"),
                 checkpoints = field(seconds, "checkpoints");
    const bool all = training && evaluation && checkpoints;
    run.seconds = all ? Number(*training + *evaluation + *checkpoints) : Number();
  }
  run.train = curve_of(record.updates, "loss");
  run.subset = curve_of(record.evaluations, "loss");
  run.throughput = curve_of(record.updates, "tokens_per_second");
  run.consensus = curve_of(record.updates, "consensus_distance");
  const Number tokens = field(record.validation, "tokens");
  if (tokens && run.validation_loss && std::isfinite(*run.validation_loss)) {
    run.validation = Point{*tokens, *run.validation_loss};
  }
}

void add_notes(Run& run) {
  if (run.record.updates.empty()) run.notes.emplace_back("no update was logged");
  note_not_finite(run.train, "logged training losses", run.notes);
  note_not_finite(run.subset, "evaluations", run.notes);
  note_not_finite(run.throughput, "logged rates", run.notes);
  note_not_finite(run.consensus, "logged consensus distances", run.notes);
  if (train::json_at(run.record.validation, {"validation_complete"}) == false) {
    run.notes.emplace_back("validated on an incomplete split");
  }
}

Run read_run(const Path& directory) {
  Run run;
  run.directory = directory;
  const RunEnding ending = run_ending(directory);
  run.status = ending.status;
  if (!ending.note.empty()) run.notes.push_back(ending.note);
  if (!std::filesystem::exists(file_status(directory / "resolved.yaml"))) {
    run.readable = false;  // it ended before its first record, or has yet to write it
    run.notes.emplace_back("no settings were recorded");
    return run;
  }
  try {
    run.record = train::read_run(directory);
    read_numbers(run);
    add_notes(run);
    // The curves hold what a report needs; the lines of many long runs would fill memory.
    run.record.updates = {};
    run.record.evaluations = {};
  } catch (const std::exception& error) {
    run = Run();
    run.directory = directory;
    run.status = Status::kUnreadable;
    run.notes = {error.what()};
    run.readable = false;
  }
  return run;
}

std::string joined_end(const Path& path, int parts) {
  Path end;
  for (Path rest = path; parts > 0 && rest.has_relative_path(); --parts) {
    end = end.empty() ? rest.filename() : rest.filename() / end;
    rest = rest.parent_path();
  }
  return end.string();
}

// The last part of each directory, and as many parts before it as make the names unique.
void name_runs(std::vector<Run>& runs) {
  constexpr int kMostParts = 32;
  std::vector<Path> paths;
  paths.reserve(runs.size());
  for (const Run& run : runs) paths.push_back(std::filesystem::canonical(run.directory));
  for (size_t i = 0; i < runs.size(); ++i) {
    for (int parts = 1; parts <= kMostParts; ++parts) {
      runs[i].name = joined_end(paths[i], parts);
      const auto same = std::ranges::count_if(
          paths, [&](const Path& other) { return joined_end(other, parts) == runs[i].name; });
      if (same == 1) break;
    }
  }
}

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::kFinished:
      return "finished";
    case Status::kRunning:
      return "running";
    case Status::kStopped:
      return "stopped";
    case Status::kFailed:
      return "failed";
    default:
      return "unreadable";
  }
}

std::vector<Run> read_runs(const std::vector<Path>& directories) {
  std::vector<Run> runs;
  runs.reserve(directories.size());
  for (const Path& directory : directories) runs.push_back(read_run(directory));
  name_runs(runs);
  return runs;
}

Curve thinned(const Curve& curve, size_t most) {
  const size_t piece = (curve.size() + most - 1) / most;
  if (piece <= 1) return curve;
  Curve thin;
  for (size_t begin = 0; begin < curve.size(); begin += piece) {
    const size_t end = std::min(begin + piece, curve.size());
    Point mean;
    for (size_t i = begin; i < end; ++i) {
      mean.tokens += curve[i].tokens / static_cast<double>(end - begin);
      mean.value += curve[i].value / static_cast<double>(end - begin);
    }
    thin.push_back(mean);
  }
  return thin;
}

}  // namespace saddle::report
