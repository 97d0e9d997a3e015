#include "bench/worker.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/gemm.h"
#include "base/candidate.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/narrow.h"
#include "base/telemetry.h"
#include "base/write_target.h"
#include "bench/measurement_identity.h"
#include "bench/product_peak.h"
#include "bench/profile_summary.h"
#include "bench/trace.h"
#include "config/load.h"
#include "model/initial_weights.h"
#include "model/operation_counts.h"
#include "train/epochs.h"
#include "train/session.h"

namespace saddle::bench {
namespace {

constexpr int64_t kProfiledUpdates = 3;
constexpr int kPeakTries = 5;

struct Window {
  int64_t tokens = 0;
  double seconds = 0;

  double rate() const { return static_cast<double>(tokens) / seconds; }
};

void check_options(const WorkerOptions& options) {
  if (options.warmup < 0 || options.steps < 1 || options.windows < 1 ||
      options.windows > kMostWindows) {
    fail(ErrorKind::kUsage,
         "expected at least 0 warm-up updates, 1 update in a window and 1 to {} windows, "
         "found --warmup {}, --steps {} and --windows {}",
         kMostWindows, options.warmup, options.steps, options.windows);
  }
}

// Whether operands of products are stored as bf16.
template <class T>
bool stores_bf16(const config::Settings& settings) {
  return std::is_same_v<T, float> && settings.runtime.amp && settings.runtime.compile;
}

// Returns the implementations of operations that run.
template <class T>
Json kernels(const config::Settings& settings) {
  return {
      {"attention", settings.runtime.compile
                        ? fmt::format("{} query rows at a time, scores not stored", ops::kQueryRows)
                        : "scores and probabilities stored whole"},
      {"matrix_products", stores_bf16<T>(settings) ? backend::product_library<num::Bf16>()
                                                   : backend::product_library<T>()}};
}

// What the updates requested from the device, divided by their number.
Json requests_per_update(const backend::DeviceCounters& requested, int64_t allocations,
                         int64_t updates) {
  const auto mean = [&](int64_t count) {
    return static_cast<double>(count) / static_cast<double>(std::max<int64_t>(1, updates));
  };
  return {{"launches", mean(requested.launches)},
          {"products", mean(requested.products)},
          {"kernel_bytes", mean(requested.kernel_bytes)},
          {"host_reads", mean(requested.host_reads)},
          {"bytes_to_host", mean(requested.bytes_to_host)},
          {"bytes_to_device", mean(requested.bytes_to_device)},
          {"allocations", mean(allocations)}};
}

template <class T>
class Worker {
 public:
  Worker(const config::Settings& settings, const WorkerOptions& options,
         const std::function<int()>& stop, Log& log)
      : settings_(settings),
        options_(options),
        stop_(stop),
        log_(log),
        context_(train::computing_threads(settings)),
        source_(settings, options.data_mode),
        trained_(context_, settings, settings.decentralized.num_models),
        runner_(context_, settings, trained_),
        total_tokens_(train::EpochPlan(settings).total_blocks() * settings.model.context_length) {
    model::set_initial_weights<T>(context_, settings.model, narrow<uint64_t>(settings.runtime.seed),
                                  trained_.weights);
    const config::RuntimeSettings& runtime = settings.runtime;
    if (runtime.compile && runtime.compile_mode == config::CompileMode::kMaxAutotune) {
      runner_.tune_products();
    }
  }

  // Returns nothing if it was stopped.
  std::optional<Json> run() {
    const double startup = watch_.seconds();
    Window warmup;
    if (!run_updates("warm-up", options_.warmup, warmup)) return std::nullopt;
    const train::WorkCounters before = trained_.counters;
    const backend::DeviceCounters requested_before = context_.counters();
    const int64_t allocated_before = context_.memory().allocations;
    std::vector<Window> windows(static_cast<size_t>(options_.windows));
    for (size_t i = 0; i < windows.size(); ++i) {
      const std::string what = fmt::format("window {}/{}", i + 1, windows.size());
      if (!run_updates(what, options_.steps, windows[i])) return std::nullopt;
    }
    const train::WorkCounters& after = trained_.counters;
    const backend::DeviceCounters requested = context_.counters() - requested_before;
    const int64_t allocated = context_.memory().allocations - allocated_before;
    Json record = rates(windows);
    record.update({{"warmup", options_.warmup},
                   {"steps", options_.steps},
                   {"first_update_seconds", first_update_seconds_},
                   {"warmup_seconds", warmup.seconds},
                   {"startup_seconds", startup},
                   {"loss", json_number(last_.mean_loss())},
                   {"grad_norm", json_number(last_.largest_grad_norm())},
                   {"peak_memory_bytes", peak_memory_bytes()},
                   {"reserved_memory_bytes", context_.memory().bytes_peak},
                   {"device_memory_bytes", usable_memory_bytes()}});
    const double peak =
        stores_bf16<T>(settings_)
            ? measure_product_peak<num::Bf16>(context_, options_.peak_size, kPeakTries)
            : measure_product_peak<T>(context_, options_.peak_size, kPeakTries);
    const double per_token = model::training_operations_per_token(settings_.model);
    record.update(
        {{"model_operations_per_token", per_token},
         {"peak_operations_per_second", json_number(peak)},
         {"share_of_peak",
          json_number(per_token * record["tokens_per_second"].template get<double>() / peak)},
         {"kernels", kernels<T>(settings_)},
         {"requests_per_update",
          requests_per_update(requested, allocated, after.updates - before.updates)},
         {"counters",
          {{"updates", after.updates - before.updates},
           {"evaluations", after.evaluations - before.evaluations},
           {"checkpoints", after.checkpoints - before.checkpoints},
           {"profiled_updates", after.profiled_updates - before.profiled_updates}}},
         {"data_mode", options_.data_mode == DataMode::kReal ? "real" : "synthetic"},
         {"settings", config::to_json(settings_)},
         {"environment",
          {{"device", "cpu"},
           {"threads", context_.threads()},
           {"build", build_description()},
           {"machine", machine_description()}}}});
    if (options_.profile) {
      const std::optional<Json> profile = run_profiled(peak);
      if (!profile) return std::nullopt;
      record["profile"] = *profile;
    }
    return record;
  }

 private:
  static Json rates(const std::vector<Window>& windows) {
    std::vector<double> each;
    Json list = Json::array();
    for (const Window& window : windows) {
      each.push_back(window.rate());
      list.push_back({{"tokens", window.tokens},
                      {"seconds", window.seconds},
                      {"tokens_per_second", window.rate()}});
    }
    return {{"tokens_per_second", median(each)}, {"windows", list}};
  }

  // Returns false if it was stopped.
  bool run_updates(const std::string& what, int64_t count, Window& window) {
    for (int64_t i = 1; i <= count; ++i) {
      if (stop_() != 0) return false;
      const Stopwatch watch;
      update();
      const double seconds = watch.seconds();
      if (step_ == 1) first_update_seconds_ = seconds;
      window.seconds += seconds;
      window.tokens += last_.targets;
      log_.progress(fmt::format("{}: update {} of {}, loss {:.4f}, {} tokens/s", what, i, count,
                                last_.mean_loss(), human_count(window.rate())));
    }
    return true;
  }

  void update() {
    {
      const backend::ProfiledRegion region(context_.profile(), "data", "load_batch");
      source_.next(batch_);
    }
    ++step_;
    tokens_ = std::min(total_tokens_, tokens_ + settings_.training.batch_tokens);
    last_ = runner_.run(batch_, {step_, tokens_, total_tokens_, 1.0});
  }

  std::optional<Json> run_profiled(double peak) {
    backend::Profile profile(context_.threads());
    context_.set_profile(&profile);
    for (int64_t i = 1; i <= kProfiledUpdates; ++i) {
      if (stop_() != 0) return std::nullopt;
      log_.progress(fmt::format("profile: update {} of {}", i, kProfiledUpdates));
      const backend::ProfiledRegion region(&profile, "update", "update");
      update();
    }
    context_.set_profile(nullptr);
    const Path trace = trace_path(options_.output);
    Trace("saddle benchmark-worker", profile).write(trace);
    Json record = {{"trace", trace.filename().string()}};
    record.update(to_json(summarize(profile), peak));
    return record;
  }

  Stopwatch watch_;
  const config::Settings& settings_;
  const WorkerOptions& options_;
  const std::function<int()>& stop_;
  Log& log_;
  backend::Context context_;
  UpdateSource source_;
  train::TrainedModel<T> trained_;
  train::UpdateRunner<T> runner_;
  int64_t total_tokens_;
  int64_t step_ = 0;
  int64_t tokens_ = 0;
  double first_update_seconds_ = 0;
  train::UpdateBatch batch_;
  train::UpdateResult last_;
};

bool is_file(const Path& output) {
  return write_target(output).kind == WriteTarget::Kind::kFile;
}

// Checks before the measurement that the output can be written.
void check_output(const WorkerOptions& options) {
  if (options.output.has_parent_path()) make_directories(options.output.parent_path());
  const AtomicFile record(options.output);
  if (!options.profile) return;
  if (!is_file(options.output)) {
    fail(ErrorKind::kUsage,
         "--profile writes a trace next to --output, but '{}' is not a regular file: give the name "
         "of a file",
         options.output.string());
  }
  const AtomicFile trace(trace_path(options.output));
}

}  // namespace

Path trace_path(const Path& output) {
  return Path(output).replace_extension(".trace.json");
}

Path telemetry_path(const Path& output) {
  return Path(output).replace_extension(".telemetry.csv");
}

std::optional<Json> measure_worker(const config::Settings& settings, const WorkerOptions& options,
                                   const std::function<int()>& stop, Log& log) {
  check_options(options);
  check_output(options);
  std::optional<Telemetry> telemetry;
  if (options.telemetry && is_file(options.output))
    telemetry.emplace(telemetry_path(options.output), log);
  const bool is_double = settings.runtime.dtype == config::Precision::kFloat64;
  std::optional<Json> record = is_double ? Worker<double>(settings, options, stop, log).run()
                                         : Worker<float>(settings, options, stop, log).run();
  log.finish_progress();
  if (record) write_json(options.output, *record);
  return record;
}

}  // namespace saddle::bench
