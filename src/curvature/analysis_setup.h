// The common setup of all studies of a finished run: its settings, its token cache, and a data
// case.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "config/settings.h"
#include "curvature/data_case.h"
#include "data/cache.h"

namespace saddle::curvature {

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
std::unique_ptr<DataCase> open_data_case(const data::TokenCache& cache,
                                         const config::Settings& settings, DataCaseKind kind);

// More random directions or start vectors than this are a mistake: even their results would fill
// the memory.
inline constexpr int64_t kMostSamples = 1'000'000;
inline constexpr int64_t kMostSequences = 65536;  // of a batch, as training.micro_batch_size allows

// Errors: kUsage unless `count` is from `least` to kMostSamples.
void check_samples(std::string_view option, int64_t count, int64_t least);

// Errors: kUsage for a value that is out of range, naming its option.
void check_seed_and_resources(int64_t seed, int64_t hvp_batch_size, double memory_gib,
                              int64_t threads);

// The bytes of --memory-gib.
int64_t bytes_of_gib(double gib);

}  // namespace saddle::curvature
