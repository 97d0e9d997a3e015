#include "analysis/analysis_setup.h"

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "config/budget.h"
#include "train/run_settings.h"
#include "train/session.h"

namespace saddle::analysis {

config::Settings studied_settings(const Path& run, int64_t threads) {
  const Path file = run / "resolved.yaml";
  if (!std::filesystem::exists(file_status(file))) {
    fail(ErrorKind::kConfig, "'{}' is not the directory of a run: it holds no resolved.yaml",
         run.string());
  }
  config::Settings settings = train::run_settings(run);
  settings.runtime.device = config::Device::kCpu;
  settings.runtime.output_dir = run.string();  // it may have been moved
  settings.runtime.threads = threads;
  return settings;
}

data::TokenCache open_studied_cache(const Path& run, const config::Settings& settings,
                                    const std::optional<Path>& other) {
  config::Settings chosen = settings;
  if (other) chosen.data.cache = other->string();
  data::TokenCache cache = train::open_cache(chosen);
  const Json environment = read_json_object(run / "environment.json");
  const Json identity = environment.value("data_identity", Json());
  if (!identity.is_string() || identity == cache.identity()) return cache;
  if (!other) {
    fail(ErrorKind::kConfig,
         "the token cache '{}' is not the one that the run was trained on (identity {}, now {}): "
         "give one that begins with the same tokens as --cache",
         chosen.data.cache, identity.get<std::string>(), cache.identity());
  }
  const data::TokenCache trained(settings.data.cache);
  if (identity != trained.identity()) {
    fail(ErrorKind::kConfig,
         "neither '{}' nor '{}' is the token cache that the run was trained on (identity {})",
         chosen.data.cache, settings.data.cache, identity.get<std::string>());
  }
  curvature::check_same_beginning(trained, cache, config::budget_tokens(settings));
  return cache;
}

std::unique_ptr<curvature::DataCase> open_data_case(const data::TokenCache& cache,
                                                    const config::Settings& settings,
                                                    curvature::DataCaseKind kind) {
  try {
    return std::make_unique<curvature::DataCase>(cache, settings, kind,
                                                 settings.decentralized.num_models);
  } catch (const Error& error) {
    if (curvature::tokens_needed(settings, kind) <= cache.tokens(data::Split::kTrain)) throw;
    fail(error.kind(), "{} (then give its directory as --cache)", error.what());
  }
}

}  // namespace saddle::analysis
