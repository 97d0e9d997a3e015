#include "precision/compare_precision.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "analysis/analysis_checkpoints.h"
#include "analysis/analysis_identity.h"
#include "analysis/analysis_setup.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/narrow.h"
#include "curvature/option_checks.h"
#include "model/parameters.h"
#include "model/weights_file.h"
#include "precision/compare_precision_case.h"
#include "precision/compare_precision_json.h"
#include "train/libraries.h"
#include "train/session.h"

namespace saddle::precision {
namespace {

constexpr const char* kFormat = "saddle precision study 1";
constexpr const char* kLock = "lock";

void check_options(const PrecisionOptions& options) {
  if (options.noise_samples && *options.noise_samples < 1) {
    fail(ErrorKind::kUsage, "--noise-samples is {}: at least 1 was expected",
         *options.noise_samples);
  }
  curvature::check_samples("--random-samples", options.random_samples, 0);
  curvature::check_seed_and_resources(options.seed, options.hvp_batch_size, options.memory_gib,
                                      options.threads);
}

// Refuses a directory of something else before anything is written to it.
const Path& usable(const Path& directory) {
  if (std::filesystem::is_directory(file_status(directory))) {
    std::error_code code;
    for (std::filesystem::directory_iterator at(directory, code), end; !code && at != end;
         at.increment(code)) {
      const std::string name = at->path().filename().string();
      if (name == kPrecisionFile || name == kLock || name.starts_with(".")) continue;
      fail(ErrorKind::kConfig, "'{}' holds something else ('{}'): choose a new --output",
           directory.string(), name);
    }
    if (code) fail(ErrorKind::kIo, "cannot list '{}': {}", directory.string(), code.message());
  }
  make_directories(directory);
  return directory;
}

// The identity of an analysis of one case with these settings.
Json study_identity(const PrecisionOptions& options, const config::Settings& run,
                    const std::string& data_identity, const curvature::DataCase& data) {
  analysis::AnalysisOptions as_analysis;
  as_analysis.amp = options.autocast;
  as_analysis.hvp_batch_size = options.hvp_batch_size;
  as_analysis.noise_samples = options.noise_samples;
  as_analysis.random_samples = options.random_samples;
  as_analysis.seed = options.seed;
  Json identity = analysis::analysis_identity(as_analysis, run, data_identity,
                                              run.decentralized.num_models, {});
  identity.erase("analysis.consensus");
  identity.erase("analysis.directions");
  identity["case.name"] = curvature::data_case_name(data.kind());
  identity["case.data"] = data.describe();
  return identity;
}

class PrecisionStudy {
 public:
  PrecisionStudy(const PrecisionOptions& options, const std::function<int()>& stop, Log& log)
      : options_(options),
        stop_(stop),
        log_(log),
        settings_(analysis::studied_settings(options.run, options.threads)),
        cache_(analysis::open_studied_cache(options.run, settings_, options.cache)),
        context_(train::computing_threads(settings_)),
        checkpoints_(analysis::find_checkpoints(options.run, settings_, options.checkpoints)),
        data_(analysis::open_data_case(cache_, settings_, options.data_case)),
        identity_(study_identity(options, settings_, cache_.identity(), *data_)),
        file_(usable(options.output) / kPrecisionFile),
        lock_(options.output / kLock,
              fmt::format("comparison of precisions into '{}'", options.output.string())),
        weights_(context_, model::Parameters(settings_.model).layout, 1) {
    remove_unfinished_files(options.output);
    read();
  }

  PrecisionOutcome run() {
    PrecisionOutcome outcome;
    for (const analysis::Checkpoint& checkpoint : checkpoints_) {
      if (reuse(checkpoint)) {
        ++outcome.reused;
      } else if (measure(checkpoint)) {
        ++outcome.measured;
      } else {
        log_.info("signal {}: stopping; finished checkpoints are kept, the same command continues",
                  stop_());
        outcome.comparisons = comparisons_;
        return outcome;
      }
    }
    outcome.completed = true;
    outcome.comparisons = comparisons_;
    return outcome;
  }

 private:
  // Reads the existing file.
  void read() {
    if (!std::filesystem::exists(file_status(file_))) return;
    const Json json = read_json(file_);
    if (!json.is_object() || json.value("format", Json()) != kFormat ||
        !json.value("comparisons", Json()).is_array()) {
      fail(ErrorKind::kData, "{}: a file of the format '{}' was expected", file_.string(), kFormat);
    }
    const Json identity = json.value("identity", Json::object());
    if (!identity.is_object()) fail(ErrorKind::kData, "{}: identity is damaged", file_.string());
    analysis::check_same_identity(identity_, identity, file_.string());
    comparisons_ = json["comparisons"];
    for (const Json& comparison : comparisons_) {
      const Json checkpoint =
          comparison.is_object() ? comparison.value("checkpoint", Json()) : Json();
      if (!checkpoint.is_object() || !checkpoint.value("names", Json()).is_array() ||
          !checkpoint.value("weights_sha256", Json()).is_string()) {
        fail(ErrorKind::kData, "{}: a checkpoint is damaged", file_.string());
      }
    }
  }

  void write() const {
    write_json(file_, {{"format", kFormat},
                       {"run", std::filesystem::absolute(options_.run).lexically_normal().string()},
                       {"identity", identity_},
                       {"comparisons", comparisons_}});
  }

  // Whether the comparison at these weights exists; adds what it does not know about them.
  bool reuse(const analysis::Checkpoint& checkpoint) {
    for (Json& comparison : comparisons_) {
      Json& known = comparison["checkpoint"];
      const bool same = known["weights_sha256"] == checkpoint.weights_sha256;
      for (const std::string& name : checkpoint.names) {
        const bool has = std::ranges::find(known["names"], Json(name)) != known["names"].end();
        if (has && !same) {
          fail(ErrorKind::kConfig,
               "'{}' holds results of other weights under the name {} (weights_sha256: there {}, "
               "now {}); choose a new --output",
               file_.string(), name, known["weights_sha256"].get<std::string>(),
               checkpoint.weights_sha256);
        }
      }
      if (!same) continue;
      if (analysis::add_what_is_new(checkpoint, known)) write();
      return true;
    }
    return false;
  }

  // False if it was stopped.
  bool measure(const analysis::Checkpoint& checkpoint) {
    if (stop_() != 0) return false;
    log_.info("{}, {}: {} sequences in {} optimizer batches; {} threads", checkpoint.names[0],
              curvature::data_case_name(data_->kind()), data_->blocks(), data_->batches(),
              context_.threads());
    const Stopwatch watch;
    model::load_weights<float>(checkpoint.file, settings_.model, weights_);
    analysis::check_unchanged({checkpoint.file, checkpoint.weights_sha256}, settings_.model);
    PrecisionCaseOptions options;
    options.hvp_batch_size = options_.hvp_batch_size;
    options.noise_samples = options_.noise_samples;
    options.random_samples = options_.random_samples;
    options.seed = narrow<uint64_t>(options_.seed);
    options.direction_bytes = curvature::bytes_of_gib(options_.memory_gib);
    options.autocast = options_.autocast;
    const auto result =
        measure_precision(context_, settings_, *data_, weights_, options, stop_, log_);
    log_.finish_progress();
    if (!result) return false;
    Json comparison = {{"checkpoint", to_json(checkpoint)},
                       {"case", curvature::data_case_name(data_->kind())}};
    comparison.update(to_json(*result));
    comparison["measured"] = {{"finished", utc_timestamp()},
                              {"seconds", json_number(watch.seconds())},
                              {"threads", context_.threads()},
                              {"libraries", train::library_versions()},
                              {"machine", machine_description()}};
    comparisons_.push_back(std::move(comparison));
    write();
    return true;
  }

  const PrecisionOptions& options_;
  const std::function<int()>& stop_;
  Log& log_;
  config::Settings settings_;
  data::TokenCache cache_;
  backend::Context context_;
  std::vector<analysis::Checkpoint> checkpoints_;
  std::unique_ptr<curvature::DataCase> data_;
  Json identity_;
  Path file_;
  FileLock lock_;
  backend::Arena<float> weights_;
  Json comparisons_ = Json::array();
};

}  // namespace

PrecisionOutcome compare_precision(const PrecisionOptions& options,
                                   const std::function<int()>& stop, Log& log) {
  check_options(options);
  return PrecisionStudy(options, stop, log).run();
}

}  // namespace saddle::precision
