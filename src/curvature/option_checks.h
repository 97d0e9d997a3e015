// Checks of the options that all commands of curvature have in common.
#pragma once

#include <cstdint>
#include <string_view>

namespace saddle::curvature {

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
