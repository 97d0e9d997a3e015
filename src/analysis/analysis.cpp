#include "analysis/analysis.h"

#include <memory>
#include <utility>

#include "analysis/analysis_checkpoints.h"
#include "analysis/analysis_identity.h"
#include "analysis/analysis_setup.h"
#include "analysis/own_directions.h"
#include "analysis/results_directory.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/narrow.h"
#include "curvature/measure_case.h"
#include "curvature/option_checks.h"
#include "model/parameters.h"
#include "model/weights_file.h"
#include "train/libraries.h"
#include "train/session.h"

namespace saddle::analysis {
namespace {

void check_count(std::string_view option, int64_t count, bool others) {
  if (count > 0 || (count == 0 && others)) return;
  fail(ErrorKind::kUsage,
       "{} is {}: at least 1 was expected, or 0 if other directions (--direction, "
       "--direction-between) or eigenvalues (--top-eigenvalues, --spectrum) are requested",
       option, count);
}

curvature::MeasureOptions measure_options(const AnalysisOptions& options) {
  curvature::MeasureOptions measure;
  measure.form = {options.method, options.amp};
  measure.hvp_batch_size = options.hvp_batch_size;
  measure.noise_samples = options.noise_samples;
  measure.random_samples = options.random_samples;
  measure.seed = narrow<uint64_t>(options.seed);
  measure.direction_bytes = curvature::bytes_of_gib(options.memory_gib);
  return measure;
}

template <class T>
class Analysis {
 public:
  Analysis(const AnalysisOptions& options, const std::function<int()>& stop, Log& log)
      : options_(options),
        stop_(stop),
        log_(log),
        settings_(studied_settings(options.run, options.threads)),
        cache_(open_studied_cache(options.run, settings_, options.cache)),
        context_(train::computing_threads(settings_)),
        checkpoints_(open_checkpoints()),
        own_(own_directions<T>(context_, options.run, settings_, options.directions,
                               options.between)),
        cases_(open_cases()),
        spectrum_(checked_spectrum()),
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
  using Work = std::pair<const Checkpoint*, const curvature::DataCase*>;

  std::vector<Checkpoint> open_checkpoints() const {
    std::vector<Checkpoint> checkpoints =
        find_checkpoints(options_.run, settings_, options_.checkpoints);
    if (!options_.consensus || settings_.decentralized.num_models == 1) return checkpoints;
    for (Checkpoint& checkpoint : checkpoints) find_workers(options_.run, settings_, checkpoint);
    return checkpoints;
  }

  std::vector<std::unique_ptr<curvature::DataCase>> open_cases() const {
    std::vector<std::unique_ptr<curvature::DataCase>> cases;
    for (const curvature::DataCaseKind kind : options_.cases) {
      cases.push_back(open_data_case(cache_, settings_, kind));
    }
    return cases;
  }

  // Before anything is measured.
  curvature::SpectrumOptions checked_spectrum() const {
    curvature::check_spectrum(
        options_.spectrum, curvature::direction_lane_bytes<T>(settings_.model),
        options_.spectrum.wanted() ? curvature::bytes_of_gib(options_.memory_gib) : INT64_MAX);
    return options_.spectrum;
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

  // False if it was stopped.
  bool measure(const Checkpoint& checkpoint, const curvature::DataCase& data,
               AnalysisOutcome& outcome) {
    if (stop_() != 0) return false;
    log_.info("{}, {}: {} sequences in {} optimizer batches", checkpoint.names[0],
              curvature::data_case_name(data.kind()), data.blocks(), data.batches());
    const Stopwatch watch;
    model::load_weights<T>(checkpoint.file, settings_.model, weights_);
    check_unchanged({checkpoint.file, checkpoint.weights_sha256}, settings_.model);
    auto result = curvature::measure_case<T>(
        context_, settings_, data, weights_, measure_options(options_),
        {own_.directions, consensus_errors<T>(settings_.model, checkpoint)}, stop_, log_);
    if (result && spectrum_.wanted() && !add_spectrum(data, *result)) result.reset();
    log_.finish_progress();
    if (!result) return false;
    results_.write(checkpoint, data, *result, watch.seconds(),
                   {{"threads", context_.threads()},
                    {"libraries", train::library_versions()},
                    {"machine", machine_description()}});
    ++outcome.measured;
    return true;
  }

  // False if it was stopped.
  bool add_spectrum(const curvature::DataCase& data, curvature::CaseResult& result) {
    const curvature::MeasureOptions measure = measure_options(options_);
    curvature::SpectrumWork work;
    work.autocast = measure.form.autocast;
    work.hvp_batch_size =
        measure.hvp_batch_size == 0 ? settings_.training.micro_batch_size : measure.hvp_batch_size;
    work.seed = measure.seed;
    work.direction_bytes = measure.direction_bytes;
    result.spectrum = curvature::measure_spectrum<T>(context_, settings_.model, data, weights_,
                                                     spectrum_, work, stop_, log_);
    return result.spectrum.has_value();
  }

  AnalysisOutcome& finish(AnalysisOutcome& outcome) {
    if (!outcome.completed) {
      log_.info("signal {}: stopping; finished cases are kept, and the same command continues",
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
  std::vector<std::unique_ptr<curvature::DataCase>> cases_;
  curvature::SpectrumOptions spectrum_;
  ResultsDirectory results_;
  backend::Arena<T> weights_;
};

}  // namespace

void check_analysis_options(const AnalysisOptions& options) {
  const bool others =
      !options.directions.empty() || !options.between.empty() || options.spectrum.wanted();
  if (options.noise_samples) check_count("--noise-samples", *options.noise_samples, others);
  check_count("--random-samples", options.random_samples, others);
  curvature::check_samples("--random-samples", options.random_samples, 0);
  if (options.cases.empty()) fail(ErrorKind::kUsage, "--data-case names no case");
  curvature::check_seed_and_resources(options.seed, options.hvp_batch_size, options.memory_gib,
                                      options.threads);
  if (options.amp && options.dtype == config::Precision::kFloat64) {
    fail(ErrorKind::kUsage, "--amp is bf16 autocast over float32: it cannot be used with float64");
  }
}

AnalysisOutcome run_analysis(const AnalysisOptions& options, const std::function<int()>& stop,
                             Log& log) {
  check_analysis_options(options);
  if (options.dtype == config::Precision::kFloat64) {
    return Analysis<double>(options, stop, log).run();
  }
  return Analysis<float>(options, stop, log).run();
}

}  // namespace saddle::analysis
