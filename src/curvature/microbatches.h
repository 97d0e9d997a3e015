// The sequences that a loss is the mean over, in microbatches, the same at every pass.
#pragma once

#include <cstdint>
#include <vector>

namespace saddle::curvature {

struct Microbatch {
  int64_t sequences = 0;
  std::vector<int32_t> inputs;   // [sequences][T]
  std::vector<int32_t> targets;  // [sequences][T], ids or kIgnoredTarget
};

class Microbatches {
 public:
  Microbatches() = default;
  Microbatches(const Microbatches&) = delete;
  Microbatches& operator=(const Microbatches&) = delete;
  virtual ~Microbatches() = default;

  virtual int64_t count() const = 0;
  virtual int64_t targets() const = 0;  // valid ones, of all microbatches together
  // Microbatch i of [0, count()). Passes go from 0 upwards.
  virtual void read(int64_t i, Microbatch& microbatch) = 0;
};

}  // namespace saddle::curvature
