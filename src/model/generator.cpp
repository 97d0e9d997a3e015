#include "model/generator.h"

#include <algorithm>

#include "ops/cached_attention.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/rmsnorm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"

namespace saddle::model {
namespace {

using tensor::View;

constexpr int64_t kChunk = 256;  // enough for products at full speed

}  // namespace

template <class T>
Generator<T>::Generator(backend::Context& context, const config::ModelSettings& model,
                        const backend::Arena<T>& weights)
    : context_(context),
      model_(model),
      parameters_(model),
      rope_(context, model),
      weights_(weights),
      chunk_(std::min(kChunk, model.context_length)),
      states_(context, 1, model.context_length, model.width),
      tokens_(context, 1, chunk_, 1),
      h_(context, 1, chunk_, model.width),
      n_(context, 1, chunk_, model.width),
      r_(context, 1, chunk_, 1),
      q_(context, 1, chunk_, model.width),
      o_(context, 1, chunk_, model.width),
      y_(context, 1, chunk_, model.width),
      gate_(context, 1, chunk_, model.ffn_width),
      up_(context, 1, chunk_, model.ffn_width),
      a_(context, 1, chunk_, model.ffn_width) {
  if (weights.workers() != 1) {
    fail(ErrorKind::kInternal, "a generator takes the weights of one worker, not of {}",
         weights.workers());
  }
  for (int64_t i = 0; i < model.layers; ++i) {
    keys_.emplace_back(context, 1, model.context_length, model.width);
    values_.emplace_back(context, 1, model.context_length, model.width);
  }
}

template <class T>
void Generator<T>::append(std::span<const int32_t> tokens) {
  const auto count = static_cast<int64_t>(tokens.size());
  if (count > capacity() - positions_) {
    fail(ErrorKind::kInternal, "{} tokens were appended, but {} positions are left", count,
         capacity() - positions_);
  }
  for (const int32_t token : tokens) {
    if (token < 0 || token >= model_.vocab_size) {
      fail(ErrorKind::kData, "token {} is not in the vocabulary of {}", token, model_.vocab_size);
    }
  }
  for (int64_t first = 0; first < count; first += chunk_) {
    run(tokens.subspan(first, std::min(chunk_, count - first)));
  }
}

template <class T>
void Generator<T>::run(std::span<const int32_t> tokens) {
  const auto rows = static_cast<int64_t>(tokens.size());
  const auto ids = tokens_.view().row_range(0, rows);
  backend::copy_from_host<int32_t>(context_, tokens.data(), 0, ids);
  const View<T> h = h_.view().row_range(0, rows);
  ops::embedding_forward<T>(context_, ids, weights_.view(parameters_.embedding), h);
  for (size_t i = 0; i < parameters_.blocks.size(); ++i) run_block(i, rows);
  ops::rmsnorm_forward<T>(context_, h, weights_.view(parameters_.norm), model_.norm_eps,
                          states_.view().row_range(positions_, rows), r_.view().row_range(0, rows));
  positions_ += rows;
}

template <class T>
void Generator<T>::run_block(size_t index, int64_t rows) {
  const BlockSlots& block = parameters_.blocks[index];
  const auto part = [&](const Tensor& tensor) { return tensor.view().row_range(0, rows); };
  const auto project = [&](View<T> x, int slot, View<T> y) {
    ops::linear_forward<T>(context_, x, weights_.view(slot), y);
  };
  const ops::RopeTables<T> all = rope_.tables();
  const ops::RopeTables<T> tables{all.cos.row_range(positions_, rows),
                                  all.sin.row_range(positions_, rows)};
  const View<T> h = part(h_), n = part(n_), r = part(r_), q = part(q_), o = part(o_), y = part(y_);
  const View<T> new_keys = keys_[index].view().row_range(positions_, rows);
  const View<T> new_values = values_[index].view().row_range(positions_, rows);

  ops::rmsnorm_forward<T>(context_, h, weights_.view(block.attention_norm), model_.norm_eps, n, r);
  project(n, block.q_proj, q);
  project(n, block.k_proj, new_keys);
  project(n, block.v_proj, new_values);
  ops::rope_forward<T>(context_, tables, rows, q);
  ops::rope_forward<T>(context_, tables, rows, new_keys);
  ops::cached_attention_forward<T>(context_, model_.heads, q,
                                   keys_[index].view().row_range(0, positions_ + rows),
                                   values_[index].view().row_range(0, positions_ + rows), o);
  project(o, block.out_proj, y);
  ops::residual_rmsnorm_forward<T>(context_, h, y, weights_.view(block.ffn_norm), model_.norm_eps,
                                   h, n, r);
  project(n, block.gate_proj, part(gate_));
  project(n, block.up_proj, part(up_));
  ops::swiglu_forward<T>(context_, part(gate_), part(up_), part(a_));
  project(part(a_), block.down_proj, y);
  ops::add_forward<T>(context_, h, y, h);
}

template <class T>
std::vector<T> Generator<T>::logits(int64_t first, int64_t count) {
  if (first < 0 || count < 0 || first + count > positions_) {
    fail(ErrorKind::kInternal, "logits of positions [{}, {}) were requested, but {} were run",
         first, first + count, positions_);
  }
  const Tensor z(context_, 1, count, model_.vocab_size);
  ops::linear_forward<T>(context_, states_.view().row_range(first, count),
                         weights_.view(parameters_.embedding), z);
  return backend::to_host<T>(context_, z);
}

template class Generator<float>;
template class Generator<double>;

}  // namespace saddle::model
