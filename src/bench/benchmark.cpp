#include "bench/benchmark.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/environment.h"
#include "base/error.h"
#include "config/load.h"

namespace saddle::bench {
namespace {

using config::CompileMode;
using config::SdpaBackend;
using config::Settings;

struct Candidate {
  std::string name;
  Settings settings;
};

void check_sizes(const std::vector<int64_t>& sizes) {
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 1; })) {
    fail(ErrorKind::kUsage, "--micro-batch-sizes must be at least 1");
  }
}

// Returns why these settings cannot be measured; empty if they can.
std::string refusal(const Settings& settings) {
  try {
    config::check_settings(settings);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

// Adds the valid candidates; the others are left out with the reason.
std::vector<size_t> add_all(Campaign& campaign, const std::string& stage,
                            const std::vector<Candidate>& candidates) {
  std::vector<size_t> rows;
  for (const Candidate& candidate : candidates) {
    if (const std::string reason = refusal(candidate.settings); !reason.empty()) {
      campaign.leave_out(candidate.name, stage, reason);
      continue;
    }
    const size_t row = campaign.add(candidate.name, stage, candidate.settings);
    if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
  }
  return rows;
}

// Returns the name of a candidate of the tuner, which lists its changes to the given settings.
std::string changed_name(const Settings& given, const Settings& settings) {
  std::string name;
  const auto add = [&](bool changed, const std::string& part) {
    if (changed) name += (name.empty() ? "" : "-") + part;
  };
  const config::RuntimeSettings& before = given.runtime;
  const config::RuntimeSettings& now = settings.runtime;
  add(before.compile != now.compile, now.compile ? "compiled" : "uncompiled");
  add(given.training.micro_batch_size != settings.training.micro_batch_size,
      fmt::format("mb{}", settings.training.micro_batch_size));
  add(before.compile_mode != now.compile_mode, std::string(config::name(now.compile_mode)));
  add(before.sdpa_backend != now.sdpa_backend,
      fmt::format("sdpa-{}", config::name(now.sdpa_backend)));
  add(before.threads != now.threads, fmt::format("threads{}", now.threads));
  return name.empty() ? "given" : name;
}

class Tuner {
 public:
  Tuner(const Settings& given, const BenchmarkOptions& options, Campaign& campaign)
      : given_(given), options_(options), campaign_(campaign) {
    campaign_.set_budget(options.budget_seconds);
  }

  BenchmarkOutcome run() {
    base_ = campaign_.add("given", "given", given_);
    if (!measure({base_})) return stopped();
    if (campaign_.measured(base_)) campaign_.recommend(base_);
    for (const auto& [stage, vary] : stages()) {
      if (!run_stage(stage, (this->*vary)())) return stopped();
    }
    return {.stopped = false, .summary = campaign_.write("finished")};
  }

 private:
  using Vary = std::vector<Settings> (Tuner::*)() const;

  static std::vector<std::pair<std::string, Vary>> stages() {
    return {{"compile", &Tuner::compiled},
            {"micro_batch_size", &Tuner::micro_batches},
            {"compile_mode", &Tuner::compile_modes},
            {"sdpa_backend", &Tuner::attention_kernels},
            {"threads", &Tuner::thread_counts}};
  }

  const Settings& best() const { return campaign_.settings(base_); }

  template <class Value, class Set>
  std::vector<Settings> varied(const std::vector<Value>& values, Set set) const {
    std::vector<Settings> all;
    for (const Value& value : values) {
      all.push_back(best());
      set(all.back(), value);
    }
    return all;
  }

  std::vector<Settings> compiled() const {
    return varied<bool>({true}, [](Settings& s, bool value) { s.runtime.compile = value; });
  }
  std::vector<Settings> micro_batches() const {
    return varied(options_.micro_batch_sizes,
                  [](Settings& s, int64_t value) { s.training.micro_batch_size = value; });
  }
  std::vector<Settings> compile_modes() const {
    if (!best().runtime.compile) return {};
    return varied<CompileMode>(
        {CompileMode::kDefault, CompileMode::kReduceOverhead, CompileMode::kMaxAutotune},
        [](Settings& s, CompileMode value) { s.runtime.compile_mode = value; });
  }
  std::vector<Settings> attention_kernels() const {
    return varied<SdpaBackend>(
        {SdpaBackend::kAuto, SdpaBackend::kFlash, SdpaBackend::kCudnn},
        [](Settings& s, SdpaBackend value) { s.runtime.sdpa_backend = value; });
  }
  // All cores, and fewer: without a second thread per core, and with less memory contention.
  std::vector<Settings> thread_counts() const {
    const int64_t cores = available_cores();
    std::vector<int64_t> counts;
    for (const int64_t count : {cores, cores / 2, cores / 4}) {
      if (count >= 1) counts.push_back(count);
    }
    return varied(counts, [](Settings& s, int64_t value) { s.runtime.threads = value; });
  }

  // Returns false if it was stopped.
  bool measure(const std::vector<size_t>& rows) {
    for (const size_t row : rows) {
      double limit = 0;
      if (!campaign_.is_known(row)) {
        const double left = options_.budget_seconds - campaign_.elapsed();
        if (left <= 0 || left < campaign_.longest_seconds()) {
          campaign_.give_up(row, left <= 0 ? "the budget was used up"
                                           : fmt::format("{:.0f} s of the budget were left, and a "
                                                         "candidate takes up to {:.0f} s",
                                                         left, campaign_.longest_seconds()));
          continue;
        }
        limit = campaign_.time_limit() > 0 ? std::min(left, campaign_.time_limit()) : left;
      }
      if (!campaign_.run(row, limit)) return false;
    }
    return true;
  }

  // Measures variations of the best so far; the fastest replaces it if the gain is large enough.
  // Returns false if it was stopped.
  bool run_stage(const std::string& stage, const std::vector<Settings>& variations) {
    std::vector<Candidate> candidates;
    for (const Settings& settings : variations) {
      if (settings == best()) continue;
      candidates.push_back({changed_name(given_, settings), settings});
    }
    std::vector<size_t> rows = add_all(campaign_, stage, candidates);
    std::erase(rows, base_);  // the same settings, expressed differently
    if (!measure(rows)) return false;
    if (rows.empty()) return true;
    const auto fastest = campaign_.fastest(rows);
    Json decision = {{"stage", stage},       {"base", campaign_.row(base_)["name"]},
                     {"fastest", nullptr},   {"gain", nullptr},
                     {"needed", kWorthGain}, {"kept", false}};
    if (fastest) {
      decision["fastest"] = campaign_.row(*fastest)["name"];
      bool kept = true;  // a measurable candidate replaces one that is not
      if (campaign_.measured(base_)) {
        decision["gain"] = campaign_.rate(*fastest) / campaign_.rate(base_) - 1;
        kept = campaign_.rate(*fastest) >= (1 + kWorthGain) * campaign_.rate(base_);
      }
      decision["kept"] = kept;
      if (kept) base_ = *fastest;
      if (kept) campaign_.recommend(base_);
    }
    campaign_.add_decision(decision);
    campaign_.write("running");
    return true;
  }

  BenchmarkOutcome stopped() const {
    return {.stopped = true, .summary = campaign_.write("stopped")};
  }

  const Settings& given_;
  const BenchmarkOptions& options_;
  Campaign& campaign_;
  size_t base_ = 0;  // the row of the best so far
};

}  // namespace

BenchmarkOutcome run_grid(const Settings& given, const BenchmarkOptions& options,
                          Campaign& campaign) {
  check_sizes(options.micro_batch_sizes);
  std::vector<Candidate> candidates;
  for (const bool compile : {false, true}) {
    for (const int64_t size : options.micro_batch_sizes) {
      Settings settings = given;
      settings.training.micro_batch_size = size;
      settings.runtime.compile = compile;
      // The compile mode only tunes the plan.
      if (!compile) settings.runtime.compile_mode = CompileMode::kDefault;
      candidates.push_back(
          {fmt::format("mb{}-compile-{}", size, compile ? "on" : "off"), std::move(settings)});
    }
  }
  const std::vector<size_t> rows = add_all(campaign, "grid", candidates);
  if (rows.empty()) {
    fail(ErrorKind::kConfig, "no microbatch of the grid fits: {}",
         refusal(candidates.front().settings));
  }
  for (const size_t row : rows) {
    if (!campaign.run(row)) return {.stopped = true, .summary = campaign.write("stopped")};
  }
  return {.stopped = false, .summary = campaign.write("finished")};
}

BenchmarkOutcome run_tuner(const Settings& given, const BenchmarkOptions& options,
                           Campaign& campaign) {
  check_sizes(options.micro_batch_sizes);
  if (!std::isfinite(options.budget_seconds) || !(options.budget_seconds > 0)) {
    fail(ErrorKind::kUsage, "--budget-minutes is {}, but must be greater than 0",
         options.budget_seconds / 60);
  }
  return Tuner(given, options, campaign).run();
}

std::string computing_device() {
  return machine_description()["processor"];
}

void require_gh200(std::string_view device) {
  if (device.find("GH200") != std::string_view::npos) return;
  fail(ErrorKind::kDevice,
       "--gh200 tunes for an NVIDIA GH200, but this program computes on '{}' here: use --tune",
       device);
}

}  // namespace saddle::bench
