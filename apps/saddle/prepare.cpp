#include "data/prepare.h"

#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "base/narrow.h"
#include "base/text.h"
#include "commands.h"
#include "config/budget.h"

namespace saddle::app {
namespace {

data::PrepareOptions prepare_options(const config::Settings& settings) {
  const config::DataSettings& data = settings.data;
  if (data.source.empty() && !data.dataset) {
    fail(ErrorKind::kConfig,
         "data.source is not given, and this command needs it or data.dataset: use --set "
         "data.source=FOLDER (with train and validation files), --set data.source=FILE --set "
         "data.validation_source=FILE, or --set data.dataset=c4 to download");
  }
  // Member by member: if an initializer of an aggregate throws, g++ 12 destroys the members of an
  // aggregate nested before it twice.
  data::PrepareOptions request;
  request.source = data.source;
  request.validation_source = data.validation_source;
  if (data.dataset) {
    request.dataset = *data.dataset;
    request.revision = data.revision;
    request.published.base_url = data.base_url;
    request.published.directory = data.download_dir;
  }
  request.tokenizer_model = required(data.tokenizer, "data.tokenizer");
  request.directory = data.cache;
  request.vocab_size = settings.model.vocab_size;
  request.train_tokens = data.prepare_train_tokens.value_or(config::budget_tokens(settings));
  request.validation_tokens = data.prepare_validation_tokens;
  request.shard_tokens = data.shard_tokens;
  request.shuffle_buffer = data.shuffle_buffer;
  request.shuffle_seed = narrow<uint64_t>(data.shuffle_seed);
  request.workers = data.prepare_workers;
  return request;
}

std::string split_text(data::Split split, const data::SplitRecord& record) {
  std::string text =
      fmt::format("  {:<11} {:>14} tokens of {} documents{}\n", data::split_name(split),
                  record.tokens, record.documents, record.complete ? "" : ", a part of the split");
  for (const auto& [reason, count] : record.skipped) {
    if (count > 0)
      text += fmt::format("  {:<11} {:>14} documents left out: {}\n", "", count, reason);
  }
  return text;
}

std::string splits_text(const data::CacheManifest& manifest) {
  std::string text;
  for (const data::Split split : {data::Split::kTrain, data::Split::kValidation}) {
    text += split_text(split, manifest.split(split));
  }
  return text + fmt::format("  {:<11} {}\n", "identity", manifest.identity);
}

int run_verify(const SettingsOptions& options) {
  const Stopwatch watch;
  const data::TokenCache cache(options.load().data.cache);
  cache.verify();
  print(fmt::format("{} is complete: every checksum and every id was verified in {}\n",
                    printable(cache.directory().string()), human_duration(watch.seconds())) +
        splits_text(cache.manifest()));
  return kExitSuccess;
}

int run_prepare(const SettingsOptions& options) {
  const data::PrepareOptions request = prepare_options(options.load());
  Log log;
  const data::PrepareSummary summary = data::prepare(request, &log);
  const std::string text =
      summary.reused
          ? fmt::format("{} is complete: every checksum was verified in {}\n",
                        printable(request.directory.string()), human_duration(summary.seconds))
          : fmt::format("{} was made in {} ({} tokens/s)\n", request.directory.string(),
                        human_duration(summary.seconds), human_count(summary.tokens_per_second));
  print(text + splits_text(summary.manifest));
  return kExitSuccess;
}

}  // namespace

void add_prepare(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "prepare", "Make the token cache from C4 files, or verify an existing one");
  const auto options = std::make_shared<SettingsOptions>();
  const auto verify = std::make_shared<bool>(false);
  command->add_flag("--verify", *verify,
                    "Only verify the checksums and ids of the cache in data.cache; neither its "
                    "sources nor a tokenizer are needed");
  add_settings_options(*command, *options);
  command->footer(
      "Reads data.source, or downloads data.dataset, and writes data.cache with data.tokenizer,\n"
      "with the training tokens that the budget needs. " +
      command->get_footer());
  command->callback([&action, options, verify] {
    action = [options, verify] { return *verify ? run_verify(*options) : run_prepare(*options); };
  });
}

}  // namespace saddle::app
