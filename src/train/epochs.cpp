#include "train/epochs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "config/budget.h"

namespace saddle::train {

EpochPlan::EpochPlan(const config::Settings& settings)
    : EpochPlan(config::epoch_boundaries(settings),
                settings.training.batch_tokens / settings.model.context_length,
                settings.model.context_length) {}

EpochPlan::EpochPlan(std::vector<int64_t> boundaries, int64_t blocks_per_update,
                     int64_t context_length)
    : boundaries_(std::move(boundaries)),
      updates_before_epoch_{0},
      blocks_per_update_(blocks_per_update),
      context_length_(context_length) {
  if (boundaries_.empty() || blocks_per_update < 1) {
    fail(ErrorKind::kConfig, "expected at least 1 epoch and 1 block per update, found {} and {}",
         boundaries_.size(), blocks_per_update);
  }
  int64_t begin = 0;
  for (const int64_t end : boundaries_) {
    const int64_t updates = (end - begin + blocks_per_update - 1) / blocks_per_update;
    updates_before_epoch_.push_back(updates_before_epoch_.back() + updates);
    begin = end;
  }
}

int64_t EpochPlan::completed_epochs(int64_t position) const {
  return std::ranges::upper_bound(boundaries_, position) - boundaries_.begin();
}

int64_t EpochPlan::next_update_blocks(int64_t position) const {
  const int64_t completed = completed_epochs(position);
  if (completed == epochs()) return 0;
  return std::min(blocks_per_update_, boundary(completed + 1) - position);
}

int64_t EpochPlan::updates_at(int64_t position) const {
  if (position < 0 || position > total_blocks()) return -1;
  const int64_t completed = completed_epochs(position);
  const int64_t inside = position - (completed == 0 ? 0 : boundary(completed));
  if (inside % blocks_per_update_ != 0) return -1;
  return updates_before_epoch_[static_cast<size_t>(completed)] + inside / blocks_per_update_;
}

}  // namespace saddle::train
