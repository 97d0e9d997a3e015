// The commands export and import on a trained model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/exit_codes.h"
#include "config/load.h"
#include "data/fixtures.h"
#include "model/parameters.h"
#include "model/weights_file.h"
#include "support/run_program.h"
#include "support/test_context.h"
#include "train/evaluate_checkpoint.h"
#include "train/export_weights.h"
#include "train/small_run.h"

namespace saddle::train {
namespace {

using ::testing::HasSubstr;

class Interchange : public ::testing::Test {
 protected:
  Interchange() {
    run_.settings.training.max_tokens = 27 * 8;
    run_.train();
  }

  Path file(const std::string& name) const { return run_.directory / name; }
  std::string checkpoint() const { return run_.file("final.state.safetensors").string(); }

  ProgramResult saddle(const std::string& arguments) const {
    const ProgramResult result = run_saddle(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << ": " << result.errors;
    return result;
  }

  double loss(const config::Settings& settings, const Path& weights) const {
    Log log = Log::silent();
    return evaluate_checkpoint(
               settings, weights, true, [] { return 0; }, log)
        ->result.loss;
  }

  SmallRun run_;
};

TEST_F(Interchange, AStateGoesToAFolderAndBackWithTheSameBitsAndTheSameLoss) {
  const ProgramResult exported =
      saddle("export --checkpoint " + checkpoint() + " --output " + file("folder").string());
  EXPECT_THAT(exported.output, HasSubstr("without a tokenizer"));
  saddle("import --input " + file("folder").string() + " --output " +
         file("back.safetensors").string() + " --config-output " + file("model.yaml").string());
  EXPECT_EQ(tensor_bytes(file("back.safetensors")), tensor_bytes(run_.file("final.safetensors")));

  const config::Settings settings = config::load_settings(
      {file("model.yaml")},
      {"data.cache=" + run_.settings.data.cache, "runtime.threads=1",
       // Batches of the same size: their sums round alike.
       "training.micro_batch_size=4", "training.batch_tokens=64", "evaluation.batch_size=5"});
  EXPECT_EQ(settings.model, run_.settings.model);
  EXPECT_EQ(loss(settings, file("back.safetensors")), loss(run_.settings, checkpoint()));
  const ProgramResult evaluated =
      saddle("evaluate --config " + file("model.yaml").string() + " --checkpoint " +
             file("back.safetensors").string() + " --set data.cache=" + run_.settings.data.cache);
  EXPECT_THAT(evaluated.output, HasSubstr("nats per token"));
}

TEST_F(Interchange, AStateBecomesAWeightFile) {
  const std::string output = file("weights.safetensors").string();
  const std::string arguments =
      "export --format safetensors --checkpoint " + checkpoint() + " --output " + output;
  saddle(arguments);
  EXPECT_EQ(tensor_bytes(output), tensor_bytes(run_.file("final.safetensors")));
  // The file itself describes its model.
  saddle("import --input " + output + " --output " + file("again.safetensors").string() +
         " --config-output " + file("model.yaml").string());
  EXPECT_EQ(config::load_settings({file("model.yaml")}, {}).model, run_.settings.model);
  // So does a weight file of a run.
  saddle("import --input " + run_.file("final.safetensors").string() + " --output " +
         file("third.safetensors").string() + " --config-output " + file("model.yaml").string());

  const ProgramResult again = run_saddle(arguments);
  EXPECT_EQ(again.exit_code, exit_code(ErrorKind::kConfig));
  EXPECT_THAT(again.errors, HasSubstr("already exists"));
}

TEST_F(Interchange, TheFolderHasTheTokenizerOfTheModel) {
  const Path tokenizer = data::make_tokenizer(run_.directory.path());
  config::Settings settings = run_.settings;
  settings.model.vocab_size = data::kTinyVocabulary;
  backend::Context context = test_context(1);
  const backend::Arena<float> zeros(context, model::Parameters(settings.model).layout, 1);
  model::save_weights<float>(file("zeros.safetensors"), zeros, 0, {});
  export_weights(settings, file("zeros.safetensors"), file("folder"), ExportFormat::kHuggingFace,
                 tokenizer);
  EXPECT_EQ(read_file(file("folder") / "tokenizer.model"), read_file(tokenizer));
  const Json config = read_json(file("folder") / "config.json");
  EXPECT_EQ(config.at("bos_token_id"), 1);  // the ids of a newly trained tokenizer
  EXPECT_EQ(config.at("eos_token_id"), 2);
  const Json pieces = read_json(file("folder") / "tokenizer_config.json");
  EXPECT_EQ(pieces.at("bos_token"), "<s>");
  EXPECT_EQ(pieces.at("eos_token"), "</s>");
  EXPECT_EQ(pieces.at("unk_token"), "<unk>");
  const Json fast = read_json(file("folder") / "tokenizer.json");
  EXPECT_EQ(fast.at("model").at("vocab").size(), data::kTinyVocabulary);
  EXPECT_EQ(fast.at("model").at("vocab").at("</s>"), 2);
}

TEST_F(Interchange, TheTokenizerMustFitTheModel) {
  const Path tokenizer = data::make_tokenizer(run_.directory.path());
  const ProgramResult result =
      run_saddle("export --checkpoint " + checkpoint() + " --output " + file("folder").string() +
                 " --tokenizer " + tokenizer.string());
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kConfig));
  EXPECT_THAT(result.errors, HasSubstr("330 pieces, but model.vocab_size is 61"));
  EXPECT_FALSE(std::filesystem::exists(file("folder")));
}

TEST_F(Interchange, SettingsNeedToBeKnown) {
  saddle("export --checkpoint " + checkpoint() + " --output " + file("folder").string());
  std::filesystem::remove(file("folder") / "config.json");
  const ProgramResult result = run_saddle(
      "import --input " + (file("folder") / "model.safetensors").string() + " --output " +
      file("back.safetensors").string() + " --config-output " + file("model.yaml").string());
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kData));
  EXPECT_THAT(result.errors, HasSubstr("number of attention heads"));
  EXPECT_FALSE(std::filesystem::exists(file("back.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(file("model.yaml")));
}

TEST_F(Interchange, ARunIdentifiesItsData) {
  const Json environment = read_json(run_.file("environment.json"));
  EXPECT_EQ(environment.at("data_identity"), data::TokenCache(run_.settings.data.cache).identity());
}

}  // namespace
}  // namespace saddle::train
