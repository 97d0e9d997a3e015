// A benchmark whose candidates take no time: their measurements are planted.
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "bench/benchmark.h"
#include "bench/campaign.h"
#include "config/load.h"
#include "support/temporary_directory.h"

namespace saddle::bench {

// An optimizer batch of 16 sequences, run operation by operation.
inline config::Settings given_settings() {
  config::Settings settings;
  settings.model = {
      .vocab_size = 50, .context_length = 8, .layers = 1, .width = 16, .heads = 2, .ffn_width = 24};
  settings.training.batch_tokens = 16 * 8;
  settings.training.micro_batch_size = 8;
  settings.training.max_tokens = 1024;
  settings.training.epoch_tokens = 1024;
  settings.runtime.compile = false;
  settings.runtime.threads = 1;
  return settings;
}

// Candidates that take no time: rates, memory and failures depend on the settings.
class PlantedCampaign {
 public:
  PlantedCampaign() {
    tools.run = [this](const CandidateRequest& request, const std::function<int()>&) {
      return measure(request);
    };
    tools.stop = [this] { return runs_before_stop == started.size() ? SIGTERM : 0; };
    tools.elapsed = [this] { return clock; };
    tools.usable_memory = [this] { return static_cast<int64_t>(usable_gib * kGibibyte); };
    options.output = directory / "out";
    options.telemetry = false;
  }

  BenchmarkOutcome grid() {
    Campaign campaign("grid", given, options, conditions, tools, log);
    return run_grid(given, benchmark, campaign);
  }
  BenchmarkOutcome tune() {
    Campaign campaign("tune", given, options, conditions, tools, log);
    return run_tuner(given, benchmark, campaign);
  }
  config::Settings file(const std::string& name) const {
    return config::load_settings({options.output / name}, {});
  }
  bool has_file(const std::string& name) const {
    return std::filesystem::exists(options.output / name);
  }

  // Functions of the settings of a candidate.
  std::function<double(const config::Settings&)> rate = [](const config::Settings&) { return 100; };
  std::function<double(const config::Settings&)> memory_gib = [](const config::Settings&) {
    return 1;
  };
  std::map<std::string, CandidateEnd> ends;  // by name, instead of a measurement
  double seconds = 10;                       // duration of a candidate
  double clock = 0;
  double usable_gib = 16;
  size_t runs_before_stop = 1000;
  std::vector<std::string> started;
  std::vector<double> limits;

  config::Settings given = given_settings();
  CampaignOptions options;
  BenchmarkOptions benchmark;
  Conditions conditions{.source_digest = "sources",
                        .data_identity = "cache",
                        .hardware = {{"processor", "one"}},
                        .software = {{"compiler", "two"}}};
  CampaignTools tools;
  TemporaryDirectory directory;
  Log log = Log::silent();

 private:
  CandidateEnd measure(const CandidateRequest& request) {
    started.push_back(request.name);
    limits.push_back(request.time_limit_seconds);
    clock += seconds;
    if (ends.contains(request.name)) return ends[request.name];
    const config::Settings settings = config::load_settings({request.settings_file}, {});
    const double tokens = rate(settings);
    const Json record = {
        {"tokens_per_second", json_number(tokens)},
        {"windows", {{{"tokens", 10}, {"seconds", 1}, {"tokens_per_second", tokens}}}},
        {"loss", 2.5},
        {"peak_memory_bytes", memory_gib(settings) * kGibibyte},
        {"device_memory_bytes", 16 * kGibibyte}};
    write_json(request.record, record);
    return {.kind = CandidateEnd::Kind::kMeasured,
            .record = record,
            .failure = "",
            .printed = "planted\n",
            .seconds = seconds};
  }
};

inline Json row_named(const Json& summary, const std::string& name) {
  for (const Json& row : summary["rows"]) {
    if (row["name"] == name) return row;
  }
  return {{"status", "no such row"}};
}

inline std::vector<std::string> statuses(const Json& summary) {
  std::vector<std::string> all;
  for (const Json& row : summary["rows"]) all.push_back(row["status"]);
  return all;
}

}  // namespace saddle::bench
