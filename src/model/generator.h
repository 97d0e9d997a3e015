// Runs the model position by position for generating text: keys and values of earlier positions are
// kept, so that one more token costs one row of every product. It computes values only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/tensor.h"
#include "config/settings.h"
#include "model/parameters.h"
#include "model/rope_cache.h"

namespace saddle::model {

// T: float or double. Computes without rounding to bf16.
template <class T>
class Generator {
 public:
  // `weights`, of one worker, must outlive the generator and is read again in every run.
  Generator(backend::Context& context, const config::ModelSettings& model,
            const backend::Arena<T>& weights);

  int64_t positions() const { return positions_; }  // run so far
  int64_t capacity() const { return model_.context_length; }

  // Runs `tokens` at the next positions. Errors: kData for an id outside the vocabulary, kInternal
  // if there are more tokens than positions left.
  void append(std::span<const int32_t> tokens);

  // Forgets all positions.
  void clear() { positions_ = 0; }

  // Logits of the positions [first, first + count), which must have been run: [count][V], computed
  // again in each call.
  std::vector<T> logits(int64_t first, int64_t count);

 private:
  using Tensor = backend::Tensor<T>;
  void run(std::span<const int32_t> tokens);
  void run_block(size_t index, int64_t rows);

  backend::Context& context_;
  config::ModelSettings model_;
  Parameters parameters_;
  RopeCache<T> rope_;
  const backend::Arena<T>& weights_;
  int64_t positions_ = 0;
  int64_t chunk_;                      // positions run at once
  std::vector<Tensor> keys_, values_;  // of each block, [1, context, C]
  Tensor states_;                      // normed residual stream after all blocks, [1, context, C]
  backend::Tensor<int32_t> tokens_;    // this and the following: [1, chunk, ...]
  Tensor h_, n_, r_, q_, o_, y_, gate_, up_, a_;
};

}  // namespace saddle::model
