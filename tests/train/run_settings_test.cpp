// Settings of a run, used later and from another folder.
#include "train/run_settings.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "config/load.h"
#include "data/cache.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::train {
namespace {

class RunSettings : public ::testing::Test {
 protected:
  RunSettings() {
    make_directories(run_);
    settings_.data.cache = "work/c4";
    settings_.data.source = {"/text"};
    settings_.data.tokenizer = "..";  // exists wherever the test runs
    settings_.runtime.seed = 7;
    write_file_atomically(run_ / "resolved.yaml", config::to_yaml(settings_));
  }

  TemporaryDirectory directory_;
  Path run_ = directory_ / "run";
  config::Settings settings_;
};

TEST_F(RunSettings, AMissingRelativePathIsTakenFromTheFolderWhereTheRunWasStarted) {
  write_json(run_ / "environment.json", {{"started_in", directory_.path().string()}});
  const config::Settings settings = run_settings(run_);
  EXPECT_EQ(settings.data.cache, directory_ / "work/c4");
  EXPECT_EQ(settings.data.source, std::vector<std::string>{"/text"});
  EXPECT_EQ(settings.data.tokenizer, "..");
  EXPECT_EQ(settings.runtime.seed, 7);
  expect_error(ErrorKind::kData, {(directory_ / "work/c4").string()},
               [&] { data::TokenCache{settings.data.cache}; });
}

TEST_F(RunSettings, WithoutARecordOfThatFolderItIsTakenFromTheWorkingDirectory) {
  const Path expected = std::filesystem::current_path() / "work/c4";
  EXPECT_EQ(run_settings(run_).data.cache, expected);
  write_json(run_ / "environment.json", {{"threads", 1}});
  EXPECT_EQ(run_settings(run_).data.cache, expected);
}

}  // namespace
}  // namespace saddle::train
