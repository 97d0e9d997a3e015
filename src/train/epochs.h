// How a run is divided: the budget into virtual epochs, an epoch into updates. Positions count
// blocks (sequences of context_length targets) from the beginning of the run.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings.h"

namespace saddle::train {

class EpochPlan {
 public:
  explicit EpochPlan(const config::Settings& settings);
  // `boundaries`: the ends of the epochs, ascending (config::epoch_boundaries).
  EpochPlan(std::vector<int64_t> boundaries, int64_t blocks_per_update, int64_t context_length);

  int64_t epochs() const { return static_cast<int64_t>(boundaries_.size()); }
  // The end of an epoch, 1 to epochs().
  int64_t boundary(int64_t epoch) const { return boundaries_.at(static_cast<size_t>(epoch - 1)); }
  int64_t total_blocks() const { return boundaries_.back(); }
  int64_t total_updates() const { return updates_before_epoch_.back(); }
  int64_t tokens(int64_t position) const { return position * context_length_; }

  // Epochs that end at or before a position.
  int64_t completed_epochs(int64_t position) const;

  // Blocks of the update that begins at a position: a whole update, or the rest of the epoch;
  // 0 at the end.
  int64_t next_update_blocks(int64_t position) const;

  // Updates done when a position is reached; -1 when no update begins or ends there.
  int64_t updates_at(int64_t position) const;

 private:
  std::vector<int64_t> boundaries_;
  std::vector<int64_t> updates_before_epoch_;  // [epochs + 1], 0 first
  int64_t blocks_per_update_;
  int64_t context_length_;
};

}  // namespace saddle::train
