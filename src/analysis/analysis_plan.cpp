#include "analysis/analysis_plan.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>

#include "analysis/analysis_identity.h"
#include "analysis/analysis_setup.h"
#include "analysis/own_directions.h"
#include "analysis/results_directory.h"
#include "backend/context.h"
#include "base/error.h"
#include "curvature/measure_case.h"
#include "curvature/option_checks.h"

namespace saddle::analysis {
namespace {

// The cost of a Hessian-vector product in directions.
constexpr double kDirectionsOfProduct = 3;

template <class T>
std::vector<DirectionIdentity> own_identities(const AnalysisOptions& options,
                                              const config::Settings& settings) {
  backend::Context context(1);
  if (options.spectrum.wanted()) {
    curvature::check_spectrum(options.spectrum, curvature::direction_lane_bytes<T>(settings.model),
                              curvature::bytes_of_gib(options.memory_gib));
  }
  return own_directions<T>(context, options.run, settings, options.directions, options.between)
      .identities;
}

std::vector<Checkpoint> checkpoints_of(const AnalysisOptions& options,
                                       const config::Settings& settings) {
  std::vector<Checkpoint> checkpoints =
      find_checkpoints(options.run, settings, options.checkpoints);
  if (!options.consensus || settings.decentralized.num_models == 1) return checkpoints;
  for (Checkpoint& checkpoint : checkpoints) find_workers(options.run, settings, checkpoint);
  return checkpoints;
}

config::Settings checked_settings(const AnalysisOptions& options) {
  check_analysis_options(options);
  return studied_settings(options.run, options.threads);
}

// The fields of an identity that decide how long the work takes on a given machine.
Json speed_fields(const Json& identity) {
  Json fields = Json::object();
  for (const auto& [key, value] : identity.items()) {
    const std::string_view name = key;
    if (name.starts_with("model.") || name == "analysis.method" || name == "analysis.dtype" ||
        name == "analysis.amp" || name == "analysis.backend" || name == "analysis.hvp_batch_size") {
      fields[key] = value;
    }
  }
  return fields;
}

double count(const Json& content, const char* key) {
  return static_cast<double>(content.value(key, Json::array()).size());
}

double finished_work(const Json& content, const Json& identity) {
  CaseWork work;
  work.targets = content.at("epoch").at("targets").get<double>();
  for (const Json& sample : content.value("noise", Json::array())) {
    work.noise_targets += sample.at("targets").get<double>();
  }
  for (const char* kind : {"noise", "random", "own", "consensus"}) {
    work.directions += count(content, kind);
  }
  if (content.contains("spectrum")) {
    work.products = identity.value("analysis.lanczos_steps", 0.0) *
                    std::max(1.0, identity.value("analysis.spectrum_starts", 1.0));
  }
  return work_of(work);
}

}  // namespace

AnalysisPlan::AnalysisPlan(const AnalysisOptions& options)
    : options_(options),
      settings_(checked_settings(options)),
      cache_(open_studied_cache(options.run, settings_, options.cache)),
      checkpoints_(checkpoints_of(options, settings_)) {
  const std::vector<DirectionIdentity> own = options.dtype == config::Precision::kFloat64
                                                 ? own_identities<double>(options, settings_)
                                                 : own_identities<float>(options, settings_);
  own_directions_ = static_cast<int64_t>(own.size());
  for (const curvature::DataCaseKind kind : options.cases) {
    cases_.push_back(open_data_case(cache_, settings_, kind));
  }
  identity_ = analysis_identity(options, settings_, cache_.identity(),
                                settings_.decentralized.num_models, own);
}

double AnalysisPlan::work(const curvature::DataCase& data) const {
  const int64_t local_batches = data.batches() * data.workers();
  const int64_t noise = std::min(options_.noise_samples.value_or(local_batches), local_batches);
  const bool errors = options_.consensus && data.workers() > 1;
  CaseWork work;
  work.targets = static_cast<double>(data.targets());
  work.noise_targets =
      work.targets * static_cast<double>(noise) / static_cast<double>(local_batches);
  work.directions = static_cast<double>(noise + options_.random_samples + own_directions_ +
                                        (errors ? data.workers() : 0));
  if (options_.spectrum.wanted()) {
    const int64_t starts = options_.spectrum.density ? options_.spectrum.starts : 1;
    work.products = static_cast<double>(options_.spectrum.steps * starts);
  }
  return work_of(work);
}

double work_of(const CaseWork& work) {
  return work.targets * (2 + work.directions + kDirectionsOfProduct * work.products) +
         work.noise_targets;
}

double measured_seconds_per_work(const Path& directory, const Json& identity) {
  const Json manifest = read_json(directory / "manifest.json");
  if (!manifest.is_object() || manifest.value("format", Json()) != kAnalysisFormat) {
    fail(ErrorKind::kConfig, "'{}' is not the directory of an analysis", directory.string());
  }
  const Json there = manifest.value("identity", Json::object());
  if (!there.is_object()) {
    fail(ErrorKind::kData, "{}: the identity of the analysis is damaged", directory.string());
  }
  check_same_identity(speed_fields(identity), speed_fields(there),
                      (directory / "manifest.json").string());
  double seconds = 0, work = 0;
  try {
    for (const Json& record : manifest.at("cases")) {
      if (!record.value("seconds", Json()).is_number()) continue;
      seconds += record["seconds"].get<double>();
      work += finished_work(read_json(directory / record.at("file").get<std::string>()), there);
    }
  } catch (const Json::exception& error) {
    fail(ErrorKind::kData, "{}: the record of the analysis is damaged: {}", directory.string(),
         error.what());
  }
  if (!(seconds > 0) || !(work > 0)) {
    fail(ErrorKind::kConfig, "'{}' does not record how long any case took", directory.string());
  }
  return seconds / work;
}

}  // namespace saddle::analysis
