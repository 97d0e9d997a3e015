// The sequences over which a loss is averaged, in microbatches that are the same in every pass.
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
  virtual int64_t targets() const = 0;  // valid targets of all microbatches together
  // Reads microbatch i of [0, count()). A pass starts at 0 and goes upwards.
  virtual void read(int64_t i, Microbatch& microbatch) = 0;
};

}  // namespace saddle::curvature
