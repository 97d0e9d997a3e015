#include "train/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/golden.h"
#include "support/test_context.h"
#include "train/evaluate_checkpoint.h"
#include "train/small_run.h"

namespace saddle::train {
namespace {

const EvaluationProgress kGoOn = [](int64_t, int64_t) { return true; };

// An execution of the golden case "tiny" in double, and its batch as a validation subset.
struct GoldenEvaluation {
  GoldenEvaluation()
      : context(test_context(1)), weights(context, model::Parameters(golden.model).layout, 1) {
    golden::load_weights(golden, context, weights);
    execution = model::make_execution<double>(context, golden.model, {}, golden.sequences, weights,
                                              nullptr);
    subset = {golden.sequences, golden.model.context_length, {}, golden.inputs, golden.targets};
  }

  EvaluationResult run(int64_t batch_size, int64_t piece_size) {
    Evaluator<double> evaluator(context, *execution,
                                {golden.model.context_length, batch_size, piece_size});
    return evaluator.run(subset, false, kGoOn).value();
  }

  golden::Case golden = golden::load("tiny");
  backend::Context context;
  backend::Arena<double> weights;
  std::unique_ptr<model::Execution<double>> execution;
  data::ValidationSubset subset;
};

TEST(Evaluator, AgreesWithTheReferenceLossInEverySplit) {
  GoldenEvaluation evaluation;
  const double expected = evaluation.golden.scalars["loss_mean"].get<double>();
  for (const auto& [batch, piece] : {std::pair{128, 3}, {2, 1}, {1, 1}, {128, 2}}) {
    const EvaluationResult result = evaluation.run(batch, piece);
    EXPECT_NEAR(result.loss, expected, 1e-10 * expected);
    EXPECT_NEAR(result.perplexity, std::exp(expected), 1e-8);
    EXPECT_EQ(result.targets, evaluation.golden.valid_targets());
    EXPECT_FALSE(result.validation_complete);
  }
}

TEST(Evaluator, EndsOnRequest) {
  GoldenEvaluation evaluation;
  Evaluator<double> evaluator(evaluation.context, *evaluation.execution,
                              {evaluation.golden.model.context_length, 1, 1});
  std::vector<int64_t> seen;
  const auto result = evaluator.run(evaluation.subset, true, [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, evaluation.golden.sequences);
    seen.push_back(done);
    return done < 1;
  });
  EXPECT_FALSE(result);
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1}));
}

// 24 * 8 + 4 validation tokens: 195 targets, the last block has 3.
TEST(Evaluator, TheWholeSplitCountsEveryTargetOnce) {
  const SmallRun run;
  const TrainOutcome outcome = run.train();
  ASSERT_TRUE(outcome.validation);
  EXPECT_EQ(outcome.validation->targets, 195);
  EXPECT_TRUE(outcome.validation->validation_complete);
}

TEST(Training, IsTheSameWithAndWithoutEvaluationBetweenUpdates) {
  SmallRun often;
  SmallRun seldom;
  seldom.settings.training.epoch_tokens = 270 * 8;
  // Whole updates in both: 8 blocks divide the epochs.
  often.settings.training.max_tokens = seldom.settings.training.max_tokens = 240 * 8;
  often.settings.training.epoch_tokens = 24 * 8;
  often.train();
  seldom.train();
  std::vector<std::string> losses[2];
  for (const SmallRun* run : {&often, &seldom}) {
    for (Json line : read_lines(run->file("metrics.jsonl"))) {
      if (line.at("type") != "train") continue;
      const Json numbers = {line.at("loss"), line.at("grad_norm"), line.at("lr")};
      losses[run == &often ? 0 : 1].push_back(numbers.dump());
    }
  }
  EXPECT_EQ(losses[0].size(), 30U);
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(tensor_bytes(often.file("final.state.safetensors")),
            tensor_bytes(seldom.file("final.state.safetensors")));
}

double final_loss(const SmallRun& run, const char* file, bool full) {
  Log log = Log::silent();
  return evaluate_checkpoint(
             run.settings, run.file(file), full, [] { return 0; }, log)
      ->result.loss;
}

TEST(EvaluateCheckpoint, GivesTheNumbersOfTraining) {
  const SmallRun run;
  const TrainOutcome outcome = run.train();
  // The same weights, split and pieces: the same bits, from weights and from the state.
  for (const char* file : {"final.safetensors", "final.state.safetensors"}) {
    EXPECT_EQ(final_loss(run, file, false), outcome.state.last_evaluation->result.loss) << file;
    EXPECT_EQ(final_loss(run, file, true), outcome.validation->loss) << file;
  }
  Log log = Log::silent();
  const auto full = evaluate_checkpoint(
      run.settings, run.file("final.safetensors"), true, [] { return 0; }, log);
  ASSERT_TRUE(full->unigram_loss);
  EXPECT_GT(*full->unigram_loss, 3.0);  // 61 ids that are not equally frequent
  EXPECT_LT(*full->unigram_loss, std::log(61));
  const Json json = to_json(*full, "some.safetensors");
  EXPECT_EQ(json.at("set"), "full");
  EXPECT_EQ(json.at("targets"), 195);
  EXPECT_TRUE(json.at("validation_complete"));
}

// Tensors of the same shapes, but another model.
TEST(EvaluateCheckpoint, RefusesTheWeightsOfAnotherModel) {
  SmallRun run;
  run.train();
  run.settings.model.heads = 4;
  run.settings.model.rope_theta = 500;
  run.settings.model.norm_eps = 1e-6;
  for (const char* file : {"final.safetensors", "final.state.safetensors"}) {
    expect_error(
        ErrorKind::kData,
        {file, "model.heads (expected 4, found 2)", "model.norm_eps (expected 1e-06, found 1e-05)",
         "model.rope_theta (expected 500.0, found 10000.0)"},
        [&] { final_loss(run, file, false); });
  }
  // Weights do not depend on the context length.
  run.settings.model = small_settings(run.directory.path()).model;
  run.settings.model.context_length = 4;
  EXPECT_TRUE(std::isfinite(final_loss(run, "final.safetensors", false)));
}

TEST(EvaluateCheckpoint, OtherBatchSizesChangeOnlyRounding) {
  SmallRun run;
  run.settings.runtime.dtype = config::Precision::kFloat64;
  const TrainOutcome outcome = run.train();
  run.settings.evaluation.batch_size = 3;
  run.settings.training.micro_batch_size = 7;
  run.settings.runtime.compile = false;
  // A float64 state; only the order of the sums over targets differs.
  EXPECT_NEAR(final_loss(run, "final.state.safetensors", true), outcome.validation->loss, 1e-13);
  // The weight file contains the weights rounded to float32.
  EXPECT_NEAR(final_loss(run, "final.safetensors", true), outcome.validation->loss, 1e-6);
}

}  // namespace
}  // namespace saddle::train
