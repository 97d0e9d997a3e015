// The directory of a series of measurements: each candidate is measured once, in a separate
// process, and finished measurements are kept.
//
//   lock                keeps a second campaign out
//   progress.json       the progress of the campaign; rewritten after each candidate
//   summary.json        a row for each candidate, and the decisions; likewise
//   selected.yaml       every setting of the fastest candidate measured within the memory limit
//   recommended.yaml    from the tuner: the settings whose change gained enough
//   logs/NAME.log       the output of a candidate
//   candidates/ID.yaml  its settings; ID.json: its record; ID.identity.json: what it measured
//   telemetry.csv       the state of the machine, once per second
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/telemetry.h"
#include "bench/candidate_worker.h"
#include "bench/measurement_identity.h"
#include "config/settings.h"

namespace saddle::bench {

inline constexpr double kMemoryShare =
    0.9;  // share of the device's memory that a candidate may use

struct CampaignOptions {
  Path output;
  Protocol protocol;
  double time_limit_seconds = 3600;  // of one candidate; 0: none
  std::optional<double> memory_gib;  // of the device; empty: as much as a process may use now
  bool telemetry = true;
};

// The tools of a campaign; tests supply their own.
struct CampaignTools {
  RunCandidate run = run_benchmark_worker;
  std::function<int()> stop = [] { return 0; };  // the number of a signal, or 0
  std::function<double()> elapsed;               // seconds since the start; empty: a clock
  std::function<int64_t()> usable_memory = usable_memory_bytes;
};

class Campaign {
 public:
  // Takes the lock. `kind` ("grid", "tune") and `given`, the settings that the candidates vary, are
  // for the summary. Errors: kUsage for an invalid protocol or invalid limits; kIo, also if another
  // campaign uses the directory.
  Campaign(std::string kind, const config::Settings& given, CampaignOptions options,
           Conditions conditions, CampaignTools tools, Log& log);

  // Adds a waiting row, or returns the row of a candidate with the same identity.
  size_t add(const std::string& name, const std::string& stage, const config::Settings& settings);
  // Records an invalid candidate, with the reason.
  void leave_out(const std::string& name, const std::string& stage, const std::string& reason);

  // Whether run() would measure nothing: the row is done, or its result is in the directory.
  bool is_known(size_t row) const;
  // Measures a waiting row, or reuses the result in the directory. `time_limit`: 0 for that of the
  // options. Returns false if it was stopped; the row then still waits.
  bool run(size_t row, double time_limit = 0);
  // Marks a waiting row as not started.
  void give_up(size_t row, const std::string& reason);

  const Json& row(size_t index) const { return rows_[index]; }
  const config::Settings& settings(size_t index) const { return settings_[index]; }
  bool measured(size_t index) const { return rows_[index]["status"] == "measured"; }
  double rate(size_t index) const { return rows_[index]["tokens_per_second"]; }
  // The fastest of these rows that was measured within the memory limit.
  std::optional<size_t> fastest(const std::vector<size_t>& rows) const;
  std::vector<size_t> all_rows() const;
  // The longest time of a measured candidate's process, now or in an earlier call; 0 without any.
  double longest_seconds() const;
  double elapsed() const { return tools_.elapsed(); }
  double time_limit() const { return options_.time_limit_seconds; }

  // For the summary; `recommended` also becomes recommended.yaml.
  void add_decision(const Json& decision) { decisions_.push_back(decision); }
  void recommend(size_t row) { recommended_ = row; }
  void set_budget(double seconds) { budget_seconds_ = seconds; }

  // Rewrites the files. `state`: "running", "stopped" or "finished". Returns the summary.
  Json write(const char* state) const;

 private:
  void write_progress(const char* state, const Json& current) const;
  void take_record(size_t row, const Json& record, double seconds);
  Path candidate_file(size_t row, const char* ending) const;
  std::optional<Json> stored(size_t row) const;
  void write_choice(const char* name, const std::optional<size_t>& row, const char* what) const;

  std::string kind_;
  config::Settings given_;
  CampaignOptions options_;
  Conditions conditions_;
  CampaignTools tools_;
  Log& log_;
  FileLock lock_;
  std::optional<Telemetry> telemetry_;
  std::vector<config::Settings> settings_;  // of each row
  std::vector<Json> identities_;
  Json rows_ = Json::array();
  Json left_out_ = Json::array();
  Json decisions_ = Json::array();
  std::optional<size_t> recommended_;
  std::optional<double> budget_seconds_;
};

// The table of a summary, for people.
std::string campaign_table(const Json& summary);

}  // namespace saddle::bench
