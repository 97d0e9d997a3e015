#include "data/loader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/narrow.h"
#include "base/random.h"
#include "base/threads.h"

namespace saddle::data {

namespace {

void check_context(int64_t context_length) {
  if (context_length < 1) {
    fail(ErrorKind::kConfig, "expected a context of at least 1 token, found {}", context_length);
  }
}

}  // namespace

int64_t tokens_needed(int64_t total_blocks, int64_t context_length) {
  check_context(context_length);
  int64_t targets = 0;
  if (total_blocks < 0 || __builtin_mul_overflow(total_blocks, context_length, &targets) ||
      targets == INT64_MAX) {
    fail(ErrorKind::kConfig, "{} blocks of {} tokens cannot be counted", total_blocks,
         context_length);
  }
  return targets + 1;
}

int64_t blocks_per_range(int64_t buffer_bytes, int64_t context_length) {
  check_context(context_length);
  const auto token_bytes = static_cast<int64_t>(sizeof(uint16_t));
  return std::max<int64_t>(1, buffer_bytes / token_bytes / context_length);
}

BlockOrder::BlockOrder(int64_t total_blocks, int64_t range_blocks, uint64_t seed)
    : total_blocks_(total_blocks), range_blocks_(range_blocks), seed_(seed) {
  if (total_blocks < 1 || range_blocks < 1) {
    fail(ErrorKind::kConfig, "expected at least 1 block in ranges of at least 1, found {} and {}",
         total_blocks, range_blocks);
  }
  const int64_t ranges = (total_blocks - 1) / range_blocks + 1;
  range_order_ = random_permutation(RandomStream(seed, RandomPurpose::kRangeOrder), ranges);
  const auto last = std::find(range_order_.begin(), range_order_.end(), ranges - 1);
  last_range_visit_ = last - range_order_.begin();
}

int64_t BlockOrder::range_size(int64_t range) const {
  return std::min(range_blocks_, total_blocks_ - range_first(range));
}

int64_t BlockOrder::visit_start(int64_t visit) const {
  const int64_t missing = range_blocks_ - range_size(range_count() - 1);
  return visit * range_blocks_ - (visit > last_range_visit_ ? missing : 0);
}

int64_t BlockOrder::visit_of(int64_t position) const {
  if (position < 0 || position >= total_blocks_) {
    fail(ErrorKind::kInternal, "there is no position {} in {} blocks", position, total_blocks_);
  }
  // After the last range, which may be shorter, every range begins that much earlier.
  if (position < visit_start(last_range_visit_)) return position / range_blocks_;
  if (position < visit_start(last_range_visit_ + 1)) return last_range_visit_;
  const int64_t missing = range_blocks_ - range_size(range_count() - 1);
  return (position + missing) / range_blocks_;
}

BlockOrder::Place BlockOrder::place(int64_t position) const {
  const int64_t visit = visit_of(position);
  return {range_at(visit), position - visit_start(visit)};
}

std::vector<int64_t> BlockOrder::blocks_of(int64_t range) const {
  const RandomStream random(seed_, RandomPurpose::kSequenceOrder, narrow<uint64_t>(range));
  std::vector<int64_t> blocks = random_permutation(random, range_size(range));
  for (int64_t& block : blocks) block += range_first(range);
  return blocks;
}

int64_t BlockOrder::block_at(int64_t position) const {
  const Place found = place(position);
  return blocks_of(found.range)[static_cast<size_t>(found.offset)];
}

TrainingLoader::TrainingLoader(const TokenCache& cache, const LoaderOptions& options,
                               int64_t start_position)
    : cache_(cache),
      options_(options),
      order_(options.total_blocks, blocks_per_range(options.buffer_bytes, options.context_length),
             options.seed),
      position_(start_position) {
  if (options.first_block < 0 || options.first_block > INT64_MAX - options.total_blocks) {
    fail(ErrorKind::kInternal, "{} blocks cannot begin at block {}", options.total_blocks,
         options.first_block);
  }
  const int64_t needed =
      tokens_needed(options.first_block + options.total_blocks, options.context_length);
  if (needed > cache.tokens(Split::kTrain)) {
    fail(ErrorKind::kData,
         "{}: the cache is too small: {} sequences of {} tokens need {} training tokens, found {}; "
         "prepare a new cache or lower training.max_tokens",
         cache.directory().string(), options.first_block + options.total_blocks,
         options.context_length, needed, cache.tokens(Split::kTrain));
  }
  if (start_position < 0 || start_position > options.total_blocks) {
    fail(ErrorKind::kInternal, "cannot start at block {} of {}", start_position,
         options.total_blocks);
  }
  if (options_.prefetch && remaining() > 0) {
    wanted_ = order_.visit_of(position_);
    reader_ = start_thread("reading the data ahead",
                           [this](const std::stop_token& stop) { read_ahead(stop); });
  }
}

TrainingLoader::~TrainingLoader() = default;

void TrainingLoader::load(int64_t visit, Range* range) const {
  const int64_t which = order_.range_at(visit);
  const int64_t first = order_.range_first(which);
  range->first_block = first;
  range->blocks = order_.blocks_of(which);
  range->tokens.resize(
      static_cast<size_t>(tokens_needed(order_.range_size(which), options_.context_length)));
  cache_.read(Split::kTrain, (options_.first_block + first) * options_.context_length,
              static_cast<int64_t>(range->tokens.size()), range->tokens.data());
}

void TrainingLoader::read_ahead(const std::stop_token& stop) {
  while (true) {
    int64_t visit = 0;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return wanted_.has_value(); })) return;
      visit = *wanted_;
    }
    std::exception_ptr failure;
    try {
      load(visit, &next_);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    wanted_.reset();
    ready_ = visit;
    failure_ = std::move(failure);  // this thread keeps no reference to what the other will free
    changed_.notify_all();
  }
}

void TrainingLoader::enter(int64_t visit) {
  if (!options_.prefetch) {
    visit_ = -1;  // until the range is complete
    load(visit, &current_);
    visit_ = visit;
    return;
  }
  std::unique_lock lock(mutex_);
  if (ready_ != visit && wanted_ != visit) {  // after a failure that the caller survived
    wanted_ = visit;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return ready_ == visit; });
  ready_.reset();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  std::swap(current_, next_);
  visit_ = visit;
  if (visit + 1 < order_.range_count()) {
    wanted_ = visit + 1;
    changed_.notify_all();
  }
}

void TrainingLoader::next(int64_t count, int32_t* inputs, int32_t* targets) {
  if (count < 0 || count > remaining()) {
    fail(ErrorKind::kInternal, "{} sequences were requested, but {} are left of {}", count,
         remaining(), order_.total_blocks());
  }
  const int64_t length = options_.context_length;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t visit = order_.visit_of(position_ + i);
    if (visit != visit_) enter(visit);
    const int64_t offset = order_.place(position_ + i).offset;
    const int64_t block = current_.blocks[static_cast<size_t>(offset)];
    const uint16_t* tokens = current_.tokens.data() + (block - current_.first_block) * length;
    std::copy(tokens, tokens + length, inputs + i * length);
    std::copy(tokens + 1, tokens + 1 + length, targets + i * length);
  }
  position_ += count;  // only now: after an error the same blocks can be requested again
}

}  // namespace saddle::data
