// Validation sequences: the whole split in order, or a fixed subset kept in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "data/cache.h"
#include "data/loader.h"

namespace saddle::data {

// Every target of the validation split once, in order. The last block may be partial: its missing
// inputs are 0 and its missing targets kIgnoredTarget. `cache` must outlive it.
class ValidationStream {
 public:
  // An Error of kind kData when the split has fewer than two tokens.
  ValidationStream(const TokenCache& cache, int64_t context_length);

  int64_t blocks() const { return blocks_; }    // the partial one included
  int64_t targets() const { return targets_; }  // that count
  int64_t position() const { return position_; }

  // Writes `count` blocks to `inputs` and `targets`, both [count, context_length]; rows after the
  // end are padding. Returns how many rows are real, 0 at the end.
  int64_t next(int64_t count, int32_t* inputs, int32_t* targets);

 private:
  const TokenCache& cache_;
  int64_t context_length_;
  int64_t targets_;
  int64_t blocks_;
  int64_t position_ = 0;
  std::vector<uint16_t> buffer_;
};

// Full blocks of the validation split, both arrays [blocks, context_length].
struct ValidationSubset {
  int64_t blocks = 0;
  int64_t context_length = 0;
  std::vector<int64_t> block_indices;  // ascending
  std::vector<int32_t> inputs;
  std::vector<int32_t> targets;
};

// Draws `subset_blocks` different full blocks by `seed` and reads them, in ascending order; takes
// all if there are fewer. An Error of kind kData if there are none.
ValidationSubset validation_subset(const TokenCache& cache, int64_t subset_blocks, uint64_t seed,
                                   int64_t context_length);

}  // namespace saddle::data
