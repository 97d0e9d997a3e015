#include <algorithm>
#include <cmath>

#include "base/candidate.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/text_table.h"
#include "bench/benchmark_hvp.h"
#include "curvature/option_checks.h"

namespace saddle::bench {
namespace {

// Directions of the reference in float64, which is slow.
constexpr int64_t kReferenceDirections = 2;
constexpr double kHvpMemoryShare = 0.9;

void check(const HvpBenchmarkOptions& options) {
  curvature::check_samples("--directions", options.directions, 1);
  if (options.rounds < 1) {
    fail(ErrorKind::kUsage, "--rounds is {}: at least 1 was expected", options.rounds);
  }
  check_time_limit(options.time_limit_seconds);
  for (const int64_t size : options.batch_sizes) {
    if (size >= 1 && size <= curvature::kMostSequences) continue;
    fail(ErrorKind::kUsage, "--batch-sizes has {}: 1 to {} was expected", size,
         curvature::kMostSequences);
  }
}

class Candidates {
 public:
  Candidates(const std::vector<std::string>& settings_words, const HvpBenchmarkOptions& options,
             const std::function<int()>& stop)
      : settings_words_(settings_words), options_(options), stop_(stop) {}

  // The row of one candidate; `more` are additional words of its command line.
  HvpRow run(curvature::Method method, int64_t batch_size, int64_t directions, int64_t rounds,
             const std::vector<std::string>& more) {
    std::vector<std::string> words = {"benchmark-hvp-candidate"};
    words.insert(words.end(), settings_words_.begin(), settings_words_.end());
    words.insert(words.end(), {"--method", std::string(curvature::method_name(method)),
                               "--batch-size", std::to_string(batch_size), "--directions",
                               std::to_string(directions), "--rounds", std::to_string(rounds)});
    if (!options_.checkpoint.empty()) {
      words.insert(words.end(), {"--checkpoint", options_.checkpoint.string()});
    }
    words.insert(words.end(), more.begin(), more.end());
    const CandidateOutcome outcome = run_candidate(words, options_.time_limit_seconds, stop_);
    HvpRow row;
    row.method = method;
    row.batch_size = batch_size;
    row.failure = outcome.failure;
    if (const auto& record = outcome.record) {
      row.measurement = {(*record)["forms"], (*record)["seconds"], (*record)["peak_memory_bytes"]};
    }
    return row;
  }

 private:
  const std::vector<std::string>& settings_words_;
  const HvpBenchmarkOptions& options_;
  const std::function<int()>& stop_;
};

std::optional<double> largest_difference(const std::vector<double>& forms,
                                         const HvpRow& reference) {
  if (!reference.measurement) return std::nullopt;
  double largest = 0;
  const std::vector<double>& exact = reference.measurement->forms;
  for (size_t i = 0; i < std::min(forms.size(), exact.size()); ++i) {
    const double difference = std::abs(forms[i] / exact[i] - 1);
    if (!(difference <= largest)) largest = difference;  // also a NaN, which then stays
    if (std::isnan(largest)) break;
  }
  return largest;
}

Json row_json(const HvpRow& row) {
  Json json = {{"method", curvature::method_name(row.method)}, {"batch_size", row.batch_size}};
  if (!row.measurement) {
    json["failure"] = row.failure;
    return json;
  }
  json.update(to_json(*row.measurement));
  json["seconds_per_batch"] = row.seconds();
  json["tokens_per_second_and_direction"] = row.tokens_per_second_and_direction;
  json["over_memory"] = row.over_memory;
  json["difference"] = row.difference ? json_number(*row.difference) : Json();
  return json;
}

void write_summary(const config::Settings& settings, const HvpBenchmarkOptions& options,
                   const HvpTable& table) {
  if (options.output.empty()) return;
  Json rows = Json::array();
  for (const HvpRow& row : table.rows) rows.push_back(row_json(row));
  write_json(options.output / "summary.json",
             {{"directions", options.directions},
              {"context_length", settings.model.context_length},
              {"dtype", config::name(settings.runtime.dtype)},
              {"amp", settings.runtime.amp},
              {"threads", settings.runtime.threads},
              {"machine", machine_description()},
              {"build", build_description()},
              {"rows", rows},
              {"selected", table.selected ? Json(*table.selected) : Json()}});
}

}  // namespace

double HvpRow::seconds() const {
  return median(measurement->seconds);
}

void add_row(HvpTable& table, HvpRow row, double memory_bytes) {
  if (row.measurement) {
    row.over_memory =
        static_cast<double>(row.measurement->peak_memory_bytes) > kHvpMemoryShare * memory_bytes;
    const double fastest =
        table.selected ? table.rows[*table.selected].tokens_per_second_and_direction : 0;
    if (!row.over_memory && row.tokens_per_second_and_direction > fastest) {
      table.selected = table.rows.size();
    }
  }
  table.rows.push_back(std::move(row));
}

std::optional<HvpTable> run_hvp_benchmark(const config::Settings& settings,
                                          const std::vector<std::string>& settings_words,
                                          const HvpBenchmarkOptions& options,
                                          const std::function<int()>& stop, Log& log) {
  check(options);
  Candidates candidates(settings_words, options, stop);
  const double memory = machine_description()["memory_bytes"].get<double>();
  HvpTable table;
  for (const int64_t batch_size : options.batch_sizes) {
    HvpRow reference;
    if (options.reference) {
      log.progress(fmt::format("reference of batch size {}", batch_size));
      reference = candidates.run(curvature::Method::kForwardReverse, batch_size,
                                 std::min(options.directions, kReferenceDirections), 1,
                                 {"--set", "runtime.dtype=float64", "--set", "runtime.amp=false"});
      if (stop() != 0) return std::nullopt;
      if (!reference.measurement) log.warn("no reference: {}", reference.failure);
    }
    for (const curvature::Method method : options.methods) {
      log.progress(fmt::format("{}, batch size {}", curvature::method_name(method), batch_size));
      HvpRow row = candidates.run(method, batch_size, options.directions, options.rounds, {});
      if (stop() != 0) return std::nullopt;
      if (row.measurement) {
        row.difference = largest_difference(row.measurement->forms, reference);
        row.tokens_per_second_and_direction =
            static_cast<double>(batch_size * settings.model.context_length * options.directions) /
            row.seconds();
      }
      add_row(table, std::move(row), memory);
      write_summary(settings, options, table);  // in case a later candidate fails
    }
  }
  log.finish_progress();
  return table;
}

std::string hvp_table(const HvpTable& table, int64_t directions) {
  TextTable text;
  text.add({"method", "batch", "s per batch", "range", "tokens/s", "peak GB", "difference", ""});
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const HvpRow& row = table.rows[i];
    const std::string method(curvature::method_name(row.method));
    if (!row.measurement) {
      text.add({method, std::to_string(row.batch_size), "-", "-", "-", "-", "-", row.failure});
      continue;
    }
    const auto [low, high] = std::ranges::minmax(row.measurement->seconds);
    text.add({method, std::to_string(row.batch_size), fmt::format("{:.3f}", row.seconds()),
              fmt::format("{:.3f} - {:.3f}", low, high),
              fmt::format("{:.1f}", row.tokens_per_second_and_direction),
              fmt::format("{:.2f}", static_cast<double>(row.measurement->peak_memory_bytes) / 1e9),
              row.difference ? fmt::format("{:.1e}", *row.difference) : "-",
              row.over_memory       ? "over 90% of memory"
              : table.selected == i ? "fastest"
                                    : ""});
  }
  return fmt::format(
      "{}  {} direction{}; tokens/s: of one direction; difference: from forward-reverse in "
      "float64\n",
      text.text(), directions, directions == 1 ? "" : "s");
}

}  // namespace saddle::bench
