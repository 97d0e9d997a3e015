// The data for measuring curvature: one epoch of sequences of a token cache, divided into optimizer
// batches.
//
//   seen     virtual epoch 1 of the run, in the order and the batches in which it was trained on
//   unseen   as many blocks, the first ones after the whole budget of the run, in their own order:
//            a BlockOrder of that many blocks whose seed is drawn from the run's seed
//            (RandomPurpose::kUnseenOrder), divided into batches like epoch 1
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "config/settings.h"
#include "curvature/data_case_kind.h"
#include "curvature/microbatches.h"
#include "data/cache.h"
#include "data/loader.h"
#include "train/epochs.h"
#include "train/update.h"

namespace saddle::curvature {

// Training tokens that a cache needs for a case of a run.
int64_t tokens_needed(const config::Settings& run, DataCaseKind kind);

// Checks that two caches begin with the same `tokens` training tokens, so that `larger` can replace
// the cache of a run. Error: kConfig, giving the first difference.
void check_same_beginning(const data::TokenCache& cache, const data::TokenCache& larger,
                          int64_t tokens);

class DataCase {
 public:
  // `cache` must outlive it; `run` holds the settings of the training, and its runtime.output_dir
  // is the directory of its resolved.yaml. Errors: kData if the cache is too small, with the
  // command that makes a large enough one; kConfig if the batches cannot be divided among the
  // workers.
  DataCase(const data::TokenCache& cache, const config::Settings& run, DataCaseKind kind,
           int64_t workers = 1);

  DataCaseKind kind() const { return kind_; }
  int64_t workers() const { return workers_; }
  int64_t context_length() const { return options_.context_length; }
  int64_t blocks() const { return blocks_; }  // sequences of the epoch, for all workers together
  int64_t targets() const { return blocks_ * context_length(); }
  // Optimizer batches of the epoch; a packed run has a local batch for each worker in each.
  int64_t batches() const { return plan_.updates_at(blocks_); }

  // Writes the sequences of optimizer batch `batch` for worker `worker`, [rows][T] each, to
  // `microbatch`.
  void read_batch(int64_t batch, int64_t worker, Microbatch& microbatch) const;

  // Everything that decides the sequences: kind, identity of the cache, first block, blocks, order.
  Json describe() const;

  const data::TokenCache& cache() const { return cache_; }
  const data::LoaderOptions& loader_options() const { return options_; }

 private:
  const data::TokenCache& cache_;
  DataCaseKind kind_;
  int64_t workers_;
  train::EpochPlan plan_;
  int64_t blocks_;
  data::LoaderOptions options_;
  int64_t batch_blocks_;
};

// All sequences of a case in order, `sequences` per microbatch; the last one holds the rest.
// (Ignored targets contribute nothing, so padding the last one with them would give the same sums.)
// Only one range of the loader is in memory.
class EpochMicrobatches : public Microbatches {
 public:
  // `data` must outlive it.
  EpochMicrobatches(const DataCase& data, int64_t sequences);

  int64_t count() const override { return (data_.blocks() + sequences_ - 1) / sequences_; }
  int64_t targets() const override { return data_.targets(); }
  // Continuing from the last one costs nothing; any other i reopens the loader.
  void read(int64_t i, Microbatch& microbatch) override;

 private:
  const DataCase& data_;
  int64_t sequences_;
  std::unique_ptr<data::TrainingLoader> loader_;
};

}  // namespace saddle::curvature
