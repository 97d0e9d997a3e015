// Microbatches of sequences in host memory: one optimizer batch, or a few sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "curvature/microbatches.h"

namespace saddle::curvature {

class StoredMicrobatches : public Microbatches {
 public:
  // inputs and targets [rows][context_length], `sequences` per microbatch; the last one holds the
  // rest. Errors: kInternal if sizes do not match or there is no sequence; kData if every target is
  // ignored.
  StoredMicrobatches(std::vector<int32_t> inputs, std::vector<int32_t> targets,
                     int64_t context_length, int64_t sequences);

  int64_t count() const override { return (rows_ + sequences_ - 1) / sequences_; }
  int64_t targets() const override { return valid_targets_; }
  void read(int64_t i, Microbatch& microbatch) override;

 private:
  std::vector<int32_t> inputs_;
  std::vector<int32_t> targets_;
  int64_t context_length_;
  int64_t sequences_;
  int64_t rows_;
  int64_t valid_targets_;
};

}  // namespace saddle::curvature
