#include "train/evaluate_checkpoint.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/narrow.h"
#include "config/budget.h"
#include "data/unigram.h"
#include "model/parameters.h"
#include "model/weights_file.h"
#include "train/session.h"

namespace saddle::train {
namespace {

template <class T>
std::optional<CheckpointEvaluation> evaluate(const config::Settings& settings,
                                             const Path& checkpoint, bool full,
                                             const std::function<int()>& stop, Log& log) {
  const data::TokenCache cache = open_cache(settings);
  backend::Context context(computing_threads(settings));
  backend::Arena<T> weights(context, model::Parameters(settings.model).layout, 1);
  model::load_weights<T>(checkpoint, settings.model, weights);

  const int64_t piece = settings.training.micro_batch_size;
  const auto execution = model::make_execution<T>(context, settings.model,
                                                  {settings.runtime.compile, settings.runtime.amp},
                                                  piece, weights, nullptr);
  const int64_t length = settings.model.context_length;
  Evaluator<T> evaluator(context, *execution, {length, settings.evaluation.batch_size, piece});
  const EvaluationProgress progress = [&](int64_t done, int64_t total) {
    log.progress(fmt::format("evaluation: {} of {} sequences", done, total));
    return stop() == 0;
  };
  std::optional<EvaluationResult> result;
  if (full) {
    data::ValidationStream stream(cache, length);
    result = evaluator.run(stream, cache.validation_complete(), progress);
  } else {
    const data::ValidationSubset subset =
        data::validation_subset(cache, settings.evaluation.subset_blocks,
                                narrow<uint64_t>(settings.evaluation.seed), length);
    result = evaluator.run(subset, cache.validation_complete(), progress);
  }
  if (!result) return std::nullopt;
  if (!std::isfinite(result->loss)) {
    fail(ErrorKind::kNumeric, "{}: the validation loss is {}", checkpoint.string(), result->loss);
  }
  CheckpointEvaluation evaluation{*result, full, std::nullopt};
  if (full) {
    const int64_t tokens =
        std::min(config::budget_tokens(settings), cache.tokens(data::Split::kTrain));
    evaluation.unigram_loss = data::unigram_validation_loss(cache, tokens);
  }
  return evaluation;
}

}  // namespace

std::optional<CheckpointEvaluation> evaluate_checkpoint(const config::Settings& settings,
                                                        const Path& checkpoint, bool full,
                                                        const std::function<int()>& stop,
                                                        Log& log) {
  if (settings.runtime.dtype == config::Precision::kFloat64) {
    return evaluate<double>(settings, checkpoint, full, stop, log);
  }
  return evaluate<float>(settings, checkpoint, full, stop, log);
}

Json to_json(const CheckpointEvaluation& evaluation, const Path& checkpoint) {
  Json json = {{"checkpoint", checkpoint.string()}, {"set", evaluation.full ? "full" : "subset"}};
  json.update(to_json(evaluation.result));
  if (evaluation.unigram_loss) json["unigram_loss"] = *evaluation.unigram_loss;
  return json;
}

}  // namespace saddle::train
