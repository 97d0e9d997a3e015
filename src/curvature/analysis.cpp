#include "curvature/analysis.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/narrow.h"
#include "config/budget.h"
#include "config/load.h"
#include "curvature/analysis_checkpoints.h"
#include "curvature/analysis_identity.h"
#include "curvature/measure_case.h"
#include "curvature/own_directions.h"
#include "curvature/results_directory.h"
#include "model/parameters.h"
#include "model/weights_file.h"
#include "train/session.h"

namespace saddle::curvature {
namespace {

void check_count(std::string_view option, int64_t count, bool others) {
  if (count > 0 || (count == 0 && others)) return;
  fail(
      ErrorKind::kUsage,
      "{} is {}: at least 1 was expected, or 0 when --direction or --direction-between gives other "
      "directions",
      option, count);
}

void check_options(const AnalysisOptions& options) {
  const bool others = !options.directions.empty() || !options.between.empty();
  if (options.noise_samples) check_count("--noise-samples", *options.noise_samples, others);
  check_count("--random-samples", options.random_samples, others);
  if (options.cases.empty()) fail(ErrorKind::kUsage, "--data-case names no case");
  if (options.seed < 0)
    fail(ErrorKind::kUsage, "--seed is {}: at least 0 was expected", options.seed);
  if (options.hvp_batch_size < 0) {
    fail(ErrorKind::kUsage, "--hvp-batch-size is {}: at least 1 was expected, or 0",
         options.hvp_batch_size);
  }
  if (!(options.memory_gib > 0) || !(options.memory_gib < 1e6)) {
    fail(ErrorKind::kUsage, "--memory-gib is {}: a number above 0 was expected",
         options.memory_gib);
  }
  if (options.threads < 0) {
    fail(ErrorKind::kUsage, "--threads is {}: at least 0 was expected", options.threads);
  }
  if (options.amp && options.dtype == config::Precision::kFloat64) {
    fail(ErrorKind::kUsage, "--amp is bf16 autocast over float32: it cannot go with float64");
  }
}

// Of the run, with what the analysis decides itself.
config::Settings run_settings(const AnalysisOptions& options) {
  const Path file = options.run / "resolved.yaml";
  if (!std::filesystem::exists(file_status(file))) {
    fail(ErrorKind::kConfig, "'{}' is not the directory of a run: it holds no resolved.yaml",
         options.run.string());
  }
  config::Settings settings;
  config::apply_yaml(read_file(file), file.string(), settings);
  settings.runtime.device = config::Device::kCpu;
  settings.runtime.threads = options.threads;
  return settings;
}

// The token cache of the run, or the one given in its place, which must begin with the same tokens.
data::TokenCache open_cache(const AnalysisOptions& options, const config::Settings& run) {
  config::Settings settings = run;
  if (options.cache) settings.data.cache = options.cache->string();
  data::TokenCache cache = train::open_cache(settings);
  const Json environment = read_json(options.run / "environment.json");
  const Json identity = environment.value("data_identity", Json());
  if (!identity.is_string() || identity == cache.identity()) return cache;
  if (!options.cache) {
    fail(ErrorKind::kConfig,
         "the token cache '{}' is not the one that the run was trained on (identity {}, now {}): "
         "give one that begins with the same tokens by --cache",
         settings.data.cache, identity.get<std::string>(), cache.identity());
  }
  const data::TokenCache trained(run.data.cache);
  if (identity != trained.identity()) {
    fail(ErrorKind::kConfig,
         "neither '{}' nor '{}' is the token cache that the run was trained on (identity {})",
         settings.data.cache, run.data.cache, identity.get<std::string>());
  }
  check_same_beginning(trained, cache, config::budget_tokens(run));
  return cache;
}

MeasureOptions measure_options(const AnalysisOptions& options) {
  MeasureOptions measure;
  measure.form = {options.method, options.amp};
  measure.hvp_batch_size = options.hvp_batch_size;
  measure.noise_samples = options.noise_samples;
  measure.random_samples = options.random_samples;
  measure.seed = narrow<uint64_t>(options.seed);
  measure.direction_bytes = static_cast<int64_t>(std::ldexp(options.memory_gib, 30));
  return measure;
}

template <class T>
class Analysis {
 public:
  Analysis(const AnalysisOptions& options, const std::function<int()>& stop, Log& log)
      : options_(options),
        stop_(stop),
        log_(log),
        settings_(run_settings(options)),
        cache_(open_cache(options, settings_)),
        context_(train::computing_threads(settings_)),
        checkpoints_(open_checkpoints()),
        own_(own_directions<T>(context_, options.run, settings_, options.directions,
                               options.between)),
        cases_(open_cases()),
        results_(options.output, options.run,
                 analysis_identity(options, settings_, cache_.identity(),
                                   settings_.decentralized.num_models, own_.identities)),
        weights_(context_, model::Parameters(settings_.model).layout, 1) {}

  AnalysisOutcome run() {
    AnalysisOutcome outcome;
    const auto work = work_left(outcome);
    log_.info("{} checkpoints, {} data cases: {} to measure, {} finished before; {} threads",
              checkpoints_.size(), cases_.size(), work.size(), outcome.reused, context_.threads());
    const Stopwatch watch;
    for (const auto& [checkpoint, data] : work) {
      if (!measure(*checkpoint, *data, outcome)) return finish(outcome);
      const auto left = static_cast<double>(work.size()) - static_cast<double>(outcome.measured);
      if (left == 0) break;
      log_.info("{} of {} measured, about {} left", outcome.measured, work.size(),
                human_duration(watch.seconds() / static_cast<double>(outcome.measured) * left));
    }
    outcome.completed = true;
    return finish(outcome);
  }

 private:
  using Work = std::pair<const Checkpoint*, const DataCase*>;

  std::vector<Checkpoint> open_checkpoints() const {
    std::vector<Checkpoint> checkpoints =
        find_checkpoints(options_.run, settings_, options_.checkpoints);
    if (!options_.consensus || settings_.decentralized.num_models == 1) return checkpoints;
    for (Checkpoint& checkpoint : checkpoints) find_workers(options_.run, settings_, checkpoint);
    return checkpoints;
  }

  std::unique_ptr<DataCase> open_case(DataCaseKind kind) const {
    try {
      return std::make_unique<DataCase>(cache_, settings_, kind,
                                        settings_.decentralized.num_models);
    } catch (const Error& error) {
      if (tokens_needed(settings_, kind) <= cache_.tokens(data::Split::kTrain)) throw;
      fail(error.kind(), "{} (then give its directory by --cache)", error.what());
    }
  }

  std::vector<std::unique_ptr<DataCase>> open_cases() const {
    std::vector<std::unique_ptr<DataCase>> cases;
    for (const DataCaseKind kind : options_.cases) cases.push_back(open_case(kind));
    return cases;
  }

  std::vector<Work> work_left(AnalysisOutcome& outcome) {
    std::vector<Work> work;
    for (const Checkpoint& checkpoint : checkpoints_) {
      if (checkpoint.names.size() > 1) {
        log_.info("{} are the same weights: measured once", fmt::join(checkpoint.names, ", "));
      }
      for (const auto& data : cases_) {
        if (results_.has(checkpoint, *data)) {
          ++outcome.reused;
        } else {
          work.emplace_back(&checkpoint, data.get());
        }
      }
    }
    return work;
  }

  // False when it was stopped.
  bool measure(const Checkpoint& checkpoint, const DataCase& data, AnalysisOutcome& outcome) {
    if (stop_() != 0) return false;
    log_.info("{}, {}: {} sequences in {} optimizer batches", checkpoint.names[0],
              data_case_name(data.kind()), data.blocks(), data.batches());
    const Stopwatch watch;
    model::load_weights<T>(checkpoint.file, settings_.model, weights_);
    const auto result = measure_case<T>(
        context_, settings_, data, weights_, measure_options(options_),
        {own_.directions, consensus_errors<T>(settings_.model, checkpoint)}, stop_, log_);
    log_.finish_progress();
    if (!result) return false;
    results_.write(checkpoint, data, *result, watch.seconds(),
                   {{"threads", context_.threads()}, {"machine", machine_description()}});
    ++outcome.measured;
    return true;
  }

  AnalysisOutcome& finish(AnalysisOutcome& outcome) {
    if (!outcome.completed) {
      log_.info("signal {}: stopping; what is finished is kept, and the same command goes on",
                stop_());
    }
    outcome.cases = ResultsDirectory::cases(results_.path());
    return outcome;
  }

  const AnalysisOptions& options_;
  const std::function<int()>& stop_;
  Log& log_;
  config::Settings settings_;
  data::TokenCache cache_;
  backend::Context context_;
  std::vector<Checkpoint> checkpoints_;
  CheckedDirections<T> own_;
  std::vector<std::unique_ptr<DataCase>> cases_;
  ResultsDirectory results_;
  backend::Arena<T> weights_;
};

}  // namespace

AnalysisOutcome run_analysis(const AnalysisOptions& options, const std::function<int()>& stop,
                             Log& log) {
  check_options(options);
  if (options.dtype == config::Precision::kFloat64) {
    return Analysis<double>(options, stop, log).run();
  }
  return Analysis<float>(options, stop, log).run();
}

}  // namespace saddle::curvature
