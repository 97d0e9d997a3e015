// Training sequences from a token cache, in an order drawn from a seed.
//
// Block b holds the tokens [b*T, b*T + T] of the training split: T = context_length inputs, and the
// same shifted by one as targets. Neighbouring blocks share one token; targets never overlap.
// `total_blocks` blocks from `first_block` on (the first ones, in training) are divided into ranges
// of consecutive blocks; the ranges are taken in random order, and so are the blocks of each range.
// The order depends only on the seed, the sizes and the number of blocks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "data/cache.h"

namespace saddle::data {

// The training tokens that `total_blocks` blocks of `context_length` targets read: one more than
// they have targets, because the last block looks one token ahead.
int64_t tokens_needed(int64_t total_blocks, int64_t context_length);

// The blocks of one range: as many as fit `buffer_bytes` at two bytes a token, at least one.
int64_t blocks_per_range(int64_t buffer_bytes, int64_t context_length);

// Which block comes at which position: a permutation of 0 .. total_blocks-1.
class BlockOrder {
 public:
  BlockOrder(int64_t total_blocks, int64_t range_blocks, uint64_t seed);

  struct Place {
    int64_t range;   // which range of consecutive blocks
    int64_t offset;  // how many of its blocks come before
  };

  int64_t total_blocks() const { return total_blocks_; }
  int64_t range_count() const { return static_cast<int64_t>(range_order_.size()); }
  int64_t range_first(int64_t range) const { return range * range_blocks_; }
  int64_t range_size(int64_t range) const;

  // The range taken as number `visit`.
  int64_t range_at(int64_t visit) const { return range_order_[static_cast<size_t>(visit)]; }
  // How many ranges come before the one that contains `position`.
  int64_t visit_of(int64_t position) const;
  Place place(int64_t position) const;
  // The blocks of the range in the order in which they are taken.
  std::vector<int64_t> blocks_of(int64_t range) const;

  // The block at `position`: a pure function. Costs one permutation of a range.
  int64_t block_at(int64_t position) const;

 private:
  int64_t visit_start(int64_t visit) const;

  int64_t total_blocks_;
  int64_t range_blocks_;
  uint64_t seed_;
  std::vector<int64_t> range_order_;
  int64_t last_range_visit_;  // when the last range, which may be shorter, is taken
};

struct LoaderOptions {
  int64_t context_length = 1024;
  int64_t total_blocks = 0;                  // the whole budget of the run
  int64_t first_block = 0;                   // of the training split: earlier ones are left out
  int64_t buffer_bytes = int64_t{64} << 20;  // of one range; two are held with prefetch
  uint64_t seed = 42;
  bool prefetch = true;  // read the next range in the background
};

// The blocks of a run one after another. Not for use from several threads at once; `cache` must
// outlive it.
class TrainingLoader {
 public:
  // Starts `start_position` blocks into the order. Too few tokens in the cache are an Error of kind
  // kData that gives both numbers.
  TrainingLoader(const TokenCache& cache, const LoaderOptions& options, int64_t start_position = 0);
  TrainingLoader(const TrainingLoader&) = delete;
  TrainingLoader& operator=(const TrainingLoader&) = delete;
  ~TrainingLoader();

  // Writes the next `count` blocks to `inputs` and `targets`, both [count, context_length], and
  // moves on. An error of the background reader is thrown here, when its range is needed.
  void next(int64_t count, int32_t* inputs, int32_t* targets);

  int64_t position() const { return position_; }
  int64_t remaining() const { return order_.total_blocks() - position_; }

 private:
  struct Range {
    std::vector<uint16_t> tokens;  // size * context_length + 1
    std::vector<int64_t> blocks;   // in the order in which they are taken
    int64_t first_block = 0;
  };

  void load(int64_t visit, Range* range) const;
  void enter(int64_t visit);
  void read_ahead(const std::stop_token& stop);

  const TokenCache& cache_;
  LoaderOptions options_;
  BlockOrder order_;
  int64_t position_;
  int64_t visit_ = -1;  // of current_
  Range current_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  Range next_;                     // written by the reader while wanted_ is set
  std::optional<int64_t> wanted_;  // the visit that the reader is to load into next_
  std::optional<int64_t> ready_;   // the visit that next_ holds
  std::exception_ptr failure_;
  std::jthread reader_;
};

}  // namespace saddle::data
