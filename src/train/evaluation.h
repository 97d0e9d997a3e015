// The validation loss: the mean over valid targets, through the forward path that training uses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "backend/tensor.h"
#include "data/evaluation.h"
#include "model/execution.h"

namespace saddle::train {

struct EvaluationResult {
  double loss = 0;        // nats per target
  double perplexity = 0;  // exp(loss)
  int64_t targets = 0;
  double seconds = 0;
  bool validation_complete = true;  // whether the cache contains the whole validation split
};

// Called with the sequences done and their total; false ends the evaluation.
using EvaluationProgress = std::function<bool(int64_t done, int64_t total)>;

struct EvaluatorOptions {
  int64_t context_length = 1024;
  int64_t batch_size = 128;  // sequences gathered in host memory at a time
  int64_t piece_size = 32;   // sequences of one run of the execution, at most its maximum
};

// Gathers batches and runs them in pieces. Losses are summed in double, piece by piece in order, so
// the sizes of batches and pieces change only the rounding of the execution itself. Changes only
// the batch and losses of the execution, not weights, moments or counters.
template <class T>
class Evaluator {
 public:
  // `execution`, of one worker, must outlive the evaluator.
  Evaluator(backend::Context& context, model::Execution<T>& execution,
            const EvaluatorOptions& options);

  // Returns nothing if `progress` ended it. A loss that is not finite is a result, not an error.
  std::optional<EvaluationResult> run(const data::ValidationSubset& subset,
                                      bool validation_complete, const EvaluationProgress& progress);
  // From the stream's position, which must be its beginning, to its end.
  std::optional<EvaluationResult> run(data::ValidationStream& stream, bool validation_complete,
                                      const EvaluationProgress& progress);

 private:
  // Adds the losses and valid targets of `count` sequences, both arrays [count, T].
  void add(int64_t count, const int32_t* inputs, const int32_t* targets);
  EvaluationResult result(double seconds, bool validation_complete) const;
  void restart();

  backend::Context& context_;
  model::Execution<T>& execution_;
  EvaluatorOptions options_;
  backend::Tensor<double> sum_;  // of the losses so far, [1, 1, 1]
  int64_t targets_ = 0;
};

}  // namespace saddle::train
