#include "data/tokenizer.h"

#include <memory>

#include "base/exit_codes.h"
#include "base/text.h"
#include "commands.h"
#include "data/cache.h"
#include "number_options.h"

namespace saddle::app {
namespace {

int run_train(const data::TokenizerTrainingOptions& options) {
  Log log;
  const data::TokenizerTrainingSummary summary = data::train_tokenizer(options, &log);
  print(fmt::format("{}: {} pieces, SHA-256 {}\n", printable(options.model_file.string()),
                    options.vocab_size, summary.sha256));
  return kExitSuccess;
}

}  // namespace

void add_tokenizer(CLI::App& program, Action& action) {
  CLI::App* tokenizer = program.add_subcommand("tokenizer", "Train a SentencePiece tokenizer");
  tokenizer->require_subcommand(1);
  CLI::App* train = tokenizer->add_subcommand("train", "Train a SentencePiece model on text");
  const auto options = std::make_shared<data::TokenizerTrainingOptions>();
  train
      ->add_option("--input", options->inputs,
                   "Text files (one sentence per line) or C4 files (.json, .jsonl), also with .gz")
      ->type_name("FILE")
      ->required();
  train->add_option("--output", options->model_file, "The model file to write")
      ->type_name("FILE")
      ->required();
  add_number(*train, "--vocab-size", options->vocab_size, {2, data::kMaxVocabulary},
             "Pieces; set model.vocab_size to the same")
      ->type_name("N")
      ->capture_default_str();
  train->add_option("--model-type", options->model_type, "How pieces are found: bpe or unigram")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"bpe", "unigram"}))
      ->capture_default_str();
  add_number(*train, "--max-sentences", options->max_sentences, {0},
             "Use the first N lines; 0: all")
      ->type_name("N")
      ->capture_default_str();
  train->callback([&action, options] { action = [options] { return run_train(*options); }; });
}

}  // namespace saddle::app
