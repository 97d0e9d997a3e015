#include "analysis/analysis_identity.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/this_program.h"
#include "config/recipe.h"
#include "train/state_file.h"

namespace saddle::analysis {
namespace {

std::string short_text(const Json& object, const std::string& key) {
  return object.contains(key) ? object[key].dump() : "missing";
}

}  // namespace

Json analysis_identity(const AnalysisOptions& options, const config::Settings& run,
                       const std::string& data_identity, int64_t workers,
                       const std::vector<DirectionIdentity>& directions) {
  Json identity = Json::object();
  const Json build = build_description();
  for (const auto& [key, value] : build.items()) identity["source." + key] = value;
  if (identity["source.changed"] != false)
    identity["source.program"] = sha256_file(kRunningProgram);
  identity["analysis.method"] = std::string(curvature::method_name(options.method));
  identity["analysis.dtype"] = std::string(config::name(options.dtype));
  identity["analysis.amp"] = options.amp;
  identity["analysis.backend"] = "cpu";
  identity["analysis.hvp_batch_size"] =
      options.hvp_batch_size == 0 ? run.training.micro_batch_size : options.hvp_batch_size;
  identity["analysis.noise_samples"] =
      options.noise_samples ? Json(*options.noise_samples) : Json("all");
  identity["analysis.random_samples"] = options.random_samples;
  identity["analysis.seed"] = options.seed;
  identity["analysis.consensus"] = options.consensus;
  Json own = Json::array();
  for (const DirectionIdentity& direction : directions) {
    own.push_back({{"name", direction.name}, {"sha256", direction.sha256}});
  }
  identity["analysis.directions"] = own;
  if (options.spectrum.wanted()) {
    identity["analysis.top_eigenvalues"] = options.spectrum.top_eigenvalues;
    identity["analysis.spectrum"] = options.spectrum.density;
    identity["analysis.lanczos_steps"] = options.spectrum.steps;
    if (options.spectrum.density) identity["analysis.spectrum_starts"] = options.spectrum.starts;
  }
  identity.update(train::run_recipe(run, data_identity, workers));
  return identity;
}

void check_same_identity(const Json& expected, const Json& found, std::string_view where) {
  std::string list;
  for (const std::string& key : config::differing_fields(found, expected)) {
    list += fmt::format("{}{} (there {}, now {})", list.empty() ? "" : ", ", key,
                        short_text(found, key), short_text(expected, key));
  }
  if (list.empty()) return;
  fail(ErrorKind::kConfig, "'{}' holds results of other settings: {}; choose a new --output", where,
       list);
}

}  // namespace saddle::analysis
