// Random tokens, for measurements that read no text.
#pragma once

#include <cstdint>
#include <vector>

#include "base/narrow.h"
#include "base/random.h"
#include "config/settings.h"

namespace saddle::bench {

// Returns `count` ids below model.vocab_size, all equally likely, from runtime.seed and `stream`.
inline std::vector<int32_t> random_ids(const config::Settings& settings, int64_t count,
                                       uint64_t stream) {
  const RandomStream random(narrow<uint64_t>(settings.runtime.seed), RandomPurpose::kSampling,
                            stream);
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(random.below(i, narrow<uint64_t>(settings.model.vocab_size)));
  }
  return ids;
}

}  // namespace saddle::bench
