#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/exit_codes.h"
#include "data/cache.h"
#include "data/dataset.h"
#include "data/fixtures.h"
#include "support/http_server.h"
#include "support/run_program.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

using ::testing::HasSubstr;

TEST(PrepareDataset, DownloadsTheDatasetOfTheSettings) {
  ::setenv("no_proxy", "127.0.0.1", 1);  // the server is local, even if this machine uses a proxy
  const TemporaryDirectory directory;
  const data::PublishedDataset c4 = data::find_dataset("c4");
  HttpServer server;
  for (const data::Split split : {data::Split::kTrain, data::Split::kValidation}) {
    const int64_t count = split == data::Split::kTrain ? 1 : c4.validation_files;
    for (int64_t i = 0; i < count; ++i) {
      server.add_file("/mirror/datasets/allenai/c4/resolve/v7/en/" + data::file_name(c4, split, i),
                      data::gzip(data::json_lines(data::some_documents(1, 1000))));
    }
  }
  const std::string settings =
      "prepare --set data.dataset=c4 --set data.base_url=" + server.url("/mirror/") +
      " --set data.download_dir=" + (directory / "kept").string() +
      " --set data.tokenizer=" + data::make_tokenizer(directory.path()).string() +
      " --set model.vocab_size=" + std::to_string(data::kTinyVocabulary) +
      " --set data.prepare_train_tokens=1000 --set data.shuffle_buffer=20 --set data.cache=" +
      (directory / "cache").string();

  const ProgramResult wrong = run_saddle(settings + " --set data.revision=v8");
  EXPECT_EQ(wrong.exit_code, exit_code(ErrorKind::kIo));
  EXPECT_THAT(wrong.errors,
              HasSubstr(server.url("/mirror/datasets/allenai/c4/resolve/v8/en/"
                                   "c4-validation.00000-of-00008.json.gz failed: the server "
                                   "answers 404 (not found)")));

  const ProgramResult result = run_saddle(settings + " --set data.revision=v7");
  EXPECT_EQ(result.exit_code, kExitSuccess) << result.errors;
  const data::TokenCache cache(directory / "cache");
  EXPECT_EQ(cache.tokens(data::Split::kTrain), 1000);
  EXPECT_EQ(cache.manifest().dataset, "c4");
  EXPECT_EQ(cache.manifest().revision, "v7");
  EXPECT_THAT(result.output, HasSubstr(cache.identity()));
  EXPECT_TRUE(std::filesystem::exists((directory / "kept") / "c4" / "v7" /
                                      "c4-train.00000-of-01024.json.gz"));
}

}  // namespace
}  // namespace saddle
