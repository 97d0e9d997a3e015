#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/candidate.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/telemetry.h"
#include "base/text_table.h"
#include "bench/packed.h"
#include "config/load.h"

namespace saddle::bench {
namespace {

constexpr double kMemoryShare = 0.9;
constexpr int64_t kMostWorkers = 1000;  // the bound of decentralized.num_models

// Returns the settings for N workers: the batch is one microbatch of each worker, and no checkpoint
// refers to an epoch.
std::vector<std::string> overrides_for(const config::Settings& settings, int64_t workers) {
  const int64_t tokens =
      workers * settings.training.micro_batch_size * settings.model.context_length;
  return {fmt::format("decentralized.num_models={}", workers),
          fmt::format("training.batch_tokens={}", tokens),
          fmt::format("training.epoch_tokens={}", tokens),
          fmt::format("training.max_tokens={}", tokens),
          "training.checkpoint_policy=final",
          "training.checkpoint_epochs=null"};
}

// Every number must be allowed by decentralized.num_models and occur once: it names the traces.
void check_numbers(const std::vector<int64_t>& numbers) {
  if (numbers.empty()) fail(ErrorKind::kUsage, "--num-models is empty");
  std::set<int64_t> seen;
  for (const int64_t workers : numbers) {
    if (workers < 1 || workers > kMostWorkers) {
      fail(ErrorKind::kUsage, "--num-models has {}, but every number must be from 1 to {}", workers,
           kMostWorkers);
    }
    if (!seen.insert(workers).second) {
      fail(ErrorKind::kUsage, "--num-models has {} twice", workers);
    }
  }
}

void check_settings_for(config::Settings settings, int64_t workers) {
  for (const std::string& set : overrides_for(settings, workers)) {
    config::apply_override(set, settings);
  }
  config::check_settings(settings);
}

// Returns the row of a candidate in the summary.
Json row_of(const config::Settings& settings, int64_t workers, PackedMode mode,
            const CandidateOutcome& outcome, const Path& trace) {
  Json row = {{"num_models", workers}, {"mode", mode_name(mode)}};
  if (!outcome.record) {
    row["failure"] = outcome.failure;
    return row;
  }
  row.update(*outcome.record);
  const double seconds = median((*outcome.record)["seconds"]);
  row["seconds_per_update"] = seconds;
  row["tokens_per_second"] = static_cast<double>(workers * settings.training.micro_batch_size *
                                                 settings.model.context_length) /
                             seconds;
  row["over_memory"] = row["peak_memory_bytes"].get<double>() >
                       kMemoryShare * machine_description()["memory_bytes"].get<double>();
  row["trace"] = trace.filename().string();
  return row;
}

std::string seconds_text(const Json& seconds) {
  return fmt::format("{:.4f}", seconds.get<double>());
}

// Tolerance: the relative difference of a loss that two orders of the same sums may cause after
// dozens of updates. In float32 a good thousand roundings of 6e-8; in float64 far more roundings,
// as 1e-9 is still negligible; under amp a few of 4e-3, from inputs between two bf16 values.
double tolerance_of(const config::RuntimeSettings& runtime) {
  if (runtime.amp) return 1e-2;
  return runtime.dtype == config::Precision::kFloat64 ? 1e-9 : 1e-4;
}

}  // namespace

void compare_modes(const Json& sequential, Json& packed, double tolerance) {
  if (sequential.contains("failure") || packed.contains("failure")) return;
  const std::vector<double> expected = sequential["losses"];
  const std::vector<double> found = packed["losses"];
  if (expected.size() != found.size()) {
    packed["failure"] = fmt::format("{} losses, {} sequentially", found.size(), expected.size());
    return;
  }
  double largest = 0;
  for (size_t n = 0; n < found.size(); ++n) {
    if (found[n] == expected[n]) continue;
    const double scale = std::max(std::abs(found[n]), std::abs(expected[n]));
    largest = std::max(largest, std::abs(found[n] - expected[n]) / scale);
  }
  packed["loss_difference"] = largest;
  if (largest > tolerance) {
    packed["failure"] =
        fmt::format("losses differ from the sequential ones by {:.1e}, more than rounding ({:.0e})",
                    largest, tolerance);
    return;
  }
  packed["speedup"] =
      sequential["seconds_per_update"].get<double>() / packed["seconds_per_update"].get<double>();
}

std::optional<Json> run_packed_benchmark(const config::Settings& settings,
                                         const std::vector<std::string>& settings_words,
                                         const PackedBenchmarkOptions& options,
                                         const std::function<int()>& stop, Log& log) {
  check_packed(settings, options.warmup, options.steps);
  check_time_limit(options.time_limit_seconds);
  check_numbers(options.num_models);
  for (const int64_t workers : options.num_models) check_settings_for(settings, workers);
  std::filesystem::create_directories(options.output);
  const Telemetry telemetry(options.output / "telemetry.csv", log);
  Json summary = {{"micro_batch_size", settings.training.micro_batch_size},
                  {"context_length", settings.model.context_length},
                  {"topology", config::name(settings.decentralized.topology)},
                  {"scheme", config::name(settings.decentralized.scheme)},
                  {"warmup", options.warmup},
                  {"steps", options.steps},
                  {"threads", settings.runtime.threads},
                  {"machine", machine_description()},
                  {"build", build_description()},
                  {"rows", Json::array()}};
  Json& rows = summary["rows"];
  for (const int64_t workers : options.num_models) {
    for (const PackedMode mode : {PackedMode::kSequential, PackedMode::kPacked}) {
      log.progress(fmt::format("{} workers, {}", workers, mode_name(mode)));
      const Path trace = options.output / fmt::format("{}-{}.trace.json", mode_name(mode), workers);
      std::vector<std::string> words = {"benchmark-packed-worker"};
      words.insert(words.end(), settings_words.begin(), settings_words.end());
      for (const std::string& set : overrides_for(settings, workers)) {
        words.insert(words.end(), {"--set", set});
      }
      words.insert(words.end(), {"--mode", std::string(mode_name(mode)), "--warmup",
                                 std::to_string(options.warmup), "--steps",
                                 std::to_string(options.steps), "--trace", trace.string()});
      const CandidateOutcome outcome = run_candidate(words, options.time_limit_seconds, stop);
      if (stop() != 0) return std::nullopt;
      rows.push_back(row_of(settings, workers, mode, outcome, trace));
      if (mode == PackedMode::kPacked) {
        compare_modes(rows[rows.size() - 2], rows.back(), tolerance_of(settings.runtime));
      }
      write_json(options.output / "summary.json", summary);  // later failures leave these rows
    }
  }
  log.finish_progress();
  return summary;
}

std::string packed_table(const Json& summary) {
  TextTable table;
  std::vector<std::string> titles = {"workers",  "mode",    "s per update", "range",
                                     "tokens/s", "speedup", "peak GB"};
  titles.insert(titles.end(), kPackedParts.begin(), kPackedParts.end());
  titles.emplace_back();
  table.add(titles);
  for (const Json& row : summary["rows"]) {
    std::vector<std::string> cells = {row["num_models"].dump(), row["mode"]};
    if (row.contains("failure")) {
      cells.resize(titles.size() - 1, "-");
      cells.push_back(row["failure"]);
      table.add(cells);
      continue;
    }
    cells.push_back(seconds_text(row["seconds_per_update"]));
    const auto [low, high] = std::ranges::minmax(row["seconds"].get<std::vector<double>>());
    cells.push_back(fmt::format("{:.4f} - {:.4f}", low, high));
    cells.push_back(fmt::format("{:.1f}", row["tokens_per_second"].get<double>()));
    cells.push_back(row.contains("speedup") ? fmt::format("{:.2f}", row["speedup"].get<double>())
                                            : "");
    cells.push_back(fmt::format("{:.2f}", row["peak_memory_bytes"].get<double>() / 1e9));
    for (const std::string_view part : kPackedParts) {
      cells.push_back(seconds_text(row["part_seconds"][std::string(part)]));
    }
    cells.emplace_back(row["over_memory"].get<bool>() ? "over 90% of memory" : "");
    table.add(cells);
  }
  return table.text() + "  seconds of parts from a separate pass\n";
}

}  // namespace saddle::bench
