// The choice of directions: which optimizer batches are noise samples, and random signs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/tensor.h"

namespace saddle::curvature {

// Which of `population` optimizer batches are noise samples: `samples` different ones (all if empty
// or if there are fewer), ascending, drawn only from the seed (RandomPurpose::kNoiseSamples).
std::vector<int64_t> noise_batches(int64_t population, std::optional<int64_t> samples,
                                   uint64_t seed);

// Writes random direction k to a lane: independent -1 or +1 (Rademacher) for each parameter. The
// number at index i of the tensors in canonical order, without padding, is
// RandomStream(seed, RandomPurpose::kDirection, k).rademacher(i); padding is not changed.
template <class T>
void write_random_direction(backend::Context& context, uint64_t seed, int64_t k,
                            backend::Arena<T>& directions, int64_t lane);

}  // namespace saddle::curvature
