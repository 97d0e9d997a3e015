#include "curvature/stored_microbatches.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/ignored_target.h"
#include "data/loader.h"

namespace saddle::curvature {

StoredMicrobatches::StoredMicrobatches(std::vector<int32_t> inputs, std::vector<int32_t> targets,
                                       int64_t context_length, int64_t sequences)
    : inputs_(std::move(inputs)),
      targets_(std::move(targets)),
      context_length_(context_length),
      sequences_(sequences) {
  const auto size = static_cast<int64_t>(inputs_.size());
  if (context_length < 1 || sequences < 1 || size < 1 || size % context_length != 0 ||
      targets_.size() != inputs_.size()) {
    fail(ErrorKind::kInternal,
         "{} inputs and {} targets are not sequences of {} in microbatches of {}", size,
         targets_.size(), context_length, sequences);
  }
  rows_ = size / context_length;
  valid_targets_ = size - std::count(targets_.begin(), targets_.end(), kIgnoredTarget);
  if (valid_targets_ == 0) {
    fail(ErrorKind::kData, "every target of a batch of {} sequences is ignored", rows_);
  }
}

void StoredMicrobatches::read(int64_t i, Microbatch& microbatch) {
  const int64_t first = i * sequences_;
  if (i < 0 || first >= rows_) {
    fail(ErrorKind::kInternal, "there is no microbatch {} of {}", i, count());
  }
  microbatch.sequences = std::min(sequences_, rows_ - first);
  const int64_t begin = first * context_length_;
  const int64_t end = begin + microbatch.sequences * context_length_;
  microbatch.inputs.assign(inputs_.begin() + begin, inputs_.begin() + end);
  microbatch.targets.assign(targets_.begin() + begin, targets_.begin() + end);
}

}  // namespace saddle::curvature
