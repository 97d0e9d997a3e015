#include "bench/sweep_run.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "base/this_program.h"
#include "bench/set_aside.h"

namespace saddle::bench {
namespace {

constexpr double kLookSeconds = 2;     // between two reads of the metrics of a run
constexpr int64_t kTailBytes = 16384;  // more than two lines of metrics

bool has_state(const Path& directory) {
  return std::ranges::any_of(std::filesystem::directory_iterator(directory), [](const auto& entry) {
    return entry.path().filename().string().ends_with(".state.safetensors");
  });
}

// Returns the progress of a run, from the last complete line of its metrics; empty without one.
std::string where_it_is(const Path& metrics) {
  try {
    const InputFile file(metrics);
    const int64_t count = std::min(file.size(), kTailBytes);
    std::string tail(static_cast<size_t>(count), '\0');
    file.read_at(file.size() - count, tail.data(), tail.size());
    const size_t end = tail.find_last_of('\n');
    if (end == std::string::npos) return {};
    const size_t before = end == 0 ? std::string::npos : tail.find_last_of('\n', end - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    const Json line = Json::parse(tail.substr(begin, end - begin), nullptr, false);
    if (!line.is_object() || !line.contains("step") || !line.contains("loss")) return {};
    return fmt::format(", step {}, loss {}", line["step"].dump(), line["loss"].dump());
  } catch (const Error&) {
    return {};  // no metrics yet
  }
}

// Returns the message of a failed process, without the prefix of every error.
std::string failure_of(const ProcessResult& result) {
  if (result.signal != 0) return fmt::format("ended by signal {}", result.signal);
  if (result.exit_code == kExitStopped) return "stopped by a signal to this run alone";
  const std::string words = result.last_words();
  constexpr std::string_view kPrefix = "saddle: error: ";
  return words.starts_with(kPrefix) ? words.substr(kPrefix.size()) : words;
}

class Sweep {
 public:
  Sweep(const SweepPlan& plan, const StartTraining& start, const std::function<int()>& stop,
        Log& log)
      : plan_(plan), start_(start), stop_(stop), log_(log), rows_(Json::array()) {
    for (const SweepRun& run : plan.runs) rows_.push_back(sweep_row(plan, run));
  }

  SweepOutcome run() {
    SweepOutcome outcome;
    for (size_t i = 0; i < plan_.runs.size() && !outcome.stopped; ++i) {
      if (rows_[i]["status"] == "finished") continue;
      outcome.stopped = stop_() != 0;
      if (outcome.stopped) break;
      write_progress("running", plan_.runs[i].name);
      const int code = train(i);
      outcome.stopped = code == kExitStopped && stop_() != 0;
      if (outcome.exit_code == 0 && !outcome.stopped) outcome.exit_code = code;
      write_summary();
    }
    write_progress(outcome.stopped ? "stopped" : "finished", nullptr);
    outcome.summary = write_summary();
    log_.finish_progress();
    if (outcome.stopped) log_.info("signal {}: stopped; the same command continues", stop_());
    return outcome;
  }

 private:
  // Returns 0 if the run is finished, otherwise the exit code of its failure.
  int train(size_t index) {
    const SweepRun& run = plan_.runs[index];
    Json& row = rows_[index];
    const Path log_file = plan_.directory / "logs" / (run.name + ".log");
    int code = 0;
    std::string failure;
    try {
      set_aside_what_cannot_go_on(run, log_);
      const ProcessResult result = start_(train_words(plan_, run), watched(index));
      write_file_atomically(log_file, result.output + result.errors);
      if (!result.succeeded() && stop_() != 0) {
        code = kExitStopped;  // also if the signal came before it could save
      } else if (!result.succeeded()) {
        code = result.signal != 0 ? exit_code(ErrorKind::kInternal) : result.exit_code;
        failure = failure_of(result);
      }
      row = sweep_row(plan_, run);
      if (code == 0 && row["status"] != "finished") {
        code = exit_code(ErrorKind::kInternal);
        failure = "it ended without a result";
      }
    } catch (const Error& error) {
      code = exit_code(error.kind());
      failure = error.what();
    }
    if (code != 0 && (code != kExitStopped || stop_() == 0)) {
      row["status"] = "failed";
      row["failure"] = failure;
      row["exit_code"] = code;
      row["log"] = log_file.string();
      log_.warn("{} failed: {}", run.name, failure);
    } else if (code == 0) {
      log_.info("{} finished, validation loss {}", run.name, row["validation_loss"].dump());
    }
    return code;
  }

  // Returns the stop function for a run; calling it also reports the progress of the run.
  std::function<int()> watched(size_t index) {
    const SweepRun& run = plan_.runs[index];
    const std::string what =
        fmt::format("run {} of {}, {}", index + 1, plan_.runs.size(), run.name);
    log_.progress(what);
    return [this, what, metrics = run.directory / "metrics.jsonl", watch = Stopwatch()]() mutable {
      if (watch.seconds() > kLookSeconds) {
        log_.progress(what + where_it_is(metrics));
        watch.restart();
      }
      return stop_();
    };
  }

  void write_progress(const char* state, const Json& current) const {
    Json runs = Json::array();
    int64_t finished = 0, failed = 0;
    for (const Json& row : rows_) {
      runs.push_back({{"name", row["name"]}, {"status", row["status"]}});
      finished += row["status"] == "finished" ? 1 : 0;
      failed += row["status"] == "failed" ? 1 : 0;
    }
    write_json(plan_.directory / "progress.json", {{"state", state},
                                                   {"current", current},
                                                   {"total", rows_.size()},
                                                   {"finished", finished},
                                                   {"failed", failed},
                                                   {"updated", utc_timestamp()},
                                                   {"runs", runs}});
  }

  Json write_summary() const {
    Json summary = sweep_summary(plan_, rows_);
    write_json(plan_.directory / "summary.json", summary);
    write_file_atomically(plan_.directory / "summary.csv", sweep_csv(summary));
    return summary;
  }

  const SweepPlan& plan_;
  const StartTraining& start_;
  const std::function<int()>& stop_;
  Log& log_;
  Json rows_;
};

}  // namespace

void set_aside_what_cannot_go_on(const SweepRun& run, Log& log) {
  if (run_progress(run) != RunProgress::kUnfinished || has_state(run.directory)) return;
  const FileLock lock(run.directory / "lock",
                      fmt::format("restarting '{}'", run.directory.string()));
  Path aside = run.directory;
  aside += kSetAside;
  for (int64_t i = 2; std::filesystem::exists(file_status(aside)); ++i) {
    aside = run.directory;
    aside += fmt::format("{}-{}", kSetAside, i);
  }
  std::filesystem::rename(run.directory, aside);
  flush_directory(run.directory.parent_path());
  log.info("{} ended before it had a state, so it starts again; its old files are in {}", run.name,
           aside.string());
}

ProcessResult start_training(const std::vector<std::string>& words,
                             const std::function<int()>& stop) {
  std::vector<std::string> training = words;
  training.insert(training.end(), {"--parent", std::to_string(this_process())});
  // The same signal: the training may ignore another one.
  return run_this_program(training, {.pass_signal = stop});
}

SweepOutcome run_sweep(const SweepPlan& plan, const StartTraining& start,
                       const std::function<int()>& stop, Log& log) {
  make_directories(plan.directory / "logs");
  const FileLock lock(plan.directory / "lock",
                      fmt::format("a sweep in '{}'", plan.directory.string()));
  remove_unfinished_files(plan.directory);
  claim_sweep_directory(plan);
  return Sweep(plan, start, stop, log).run();
}

}  // namespace saddle::bench
