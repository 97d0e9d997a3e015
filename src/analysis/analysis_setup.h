// The common setup of all studies of a finished run: its settings, its token cache, and a data
// case.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/files.h"
#include "config/settings.h"
#include "curvature/data_case.h"
#include "data/cache.h"

namespace saddle::analysis {

// The settings of resolved.yaml in the directory of the run, with the number of threads (0: every
// core of this process) and the device for measuring curvature. Errors: kConfig if it is not the
// directory of a run; those of config::apply_yaml().
config::Settings studied_settings(const Path& run, int64_t threads);

// The token cache named in the `settings` of the run, or `other` in its place, which must begin
// with the same tokens. Errors: kConfig for a cache that the run was not trained on; those of
// train::open_cache().
data::TokenCache open_studied_cache(const Path& run, const config::Settings& settings,
                                    const std::optional<Path>& other);

// For all workers of the run. `cache` must outlive it. Errors: those of DataCase; for a cache that
// is too small the message names the option for a larger one.
std::unique_ptr<curvature::DataCase> open_data_case(const data::TokenCache& cache,
                                                    const config::Settings& settings,
                                                    curvature::DataCaseKind kind);

}  // namespace saddle::analysis
