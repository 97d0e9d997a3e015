#include "bench/update_source.h"

#include <algorithm>

#include "base/error.h"
#include "base/narrow.h"
#include "bench/random_ids.h"
#include "train/epochs.h"
#include "train/session.h"

namespace saddle::bench {

UpdateSource::UpdateSource(const config::Settings& settings, DataMode mode)
    : context_length_(settings.model.context_length),
      workers_(settings.decentralized.num_models),
      blocks_(settings.training.batch_tokens / context_length_) {
  if (mode == DataMode::kSynthetic) {
    random_.sequences = blocks_ / workers_;
    random_.inputs = random_ids(settings, settings.training.batch_tokens, 0);
    random_.targets = random_ids(settings, settings.training.batch_tokens, 1);
    return;
  }
  cache_.emplace(train::open_cache(settings));
  // The last block needs one token more, its last target.
  const int64_t held = (cache_->tokens(data::Split::kTrain) - 1) / context_length_;
  const int64_t budget = train::EpochPlan(settings).total_blocks();
  options_ = {.context_length = context_length_,
              .total_blocks = std::min(held, budget),
              .buffer_bytes = settings.data.buffer_size_mib * (int64_t{1} << 20),
              .seed = narrow<uint64_t>(settings.runtime.seed),
              .prefetch = settings.data.prefetch};
  if (options_.total_blocks < blocks_) {
    fail(ErrorKind::kData,
         "an update needs {} sequences of {} tokens, but the budget has {} and the token cache "
         "'{}' has {}: lower training.batch_tokens, or prepare a larger cache",
         blocks_, context_length_, budget, settings.data.cache, held);
  }
  begin();
}

void UpdateSource::begin() {
  loader_.reset();  // before the next one reads ahead
  loader_ = std::make_unique<data::TrainingLoader>(*cache_, options_);
}

void UpdateSource::next(train::UpdateBatch& batch) {
  if (!cache_) {
    batch = random_;
    return;
  }
  if (loader_->remaining() < blocks_) begin();
  train::read_batch(*loader_, blocks_, workers_, context_length_, batch);
}

}  // namespace saddle::bench
