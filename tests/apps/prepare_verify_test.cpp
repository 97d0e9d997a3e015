// `saddle prepare --verify` needs only a cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/exit_codes.h"
#include "data/cache.h"
#include "support/run_program.h"
#include "support/token_cache.h"

namespace saddle {
namespace {

using ::testing::HasSubstr;

class PrepareVerify : public ::testing::Test {
 protected:
  PrepareVerify() {
    data::write_token_cache(cache_, data::random_ids(2500, 1000, 1), data::random_ids(70, 1000, 2),
                            1000, 1000);
  }
  ProgramResult verify() const {
    return run_saddle("prepare --verify --set data.cache=" + cache_.string());
  }
  void expect_refused(const std::string& part) const {
    const ProgramResult result = verify();
    EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kData));
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors, HasSubstr(part));
  }

  TemporaryDirectory directory_;
  Path cache_ = directory_ / "cache";
};

TEST_F(PrepareVerify, NeedsOnlyTheCache) {
  const ProgramResult result = verify();
  EXPECT_EQ(result.exit_code, kExitSuccess) << result.errors;
  for (const std::string& part : {cache_.string() + " is complete", std::string("2500 tokens"),
                                  std::string("70 tokens"), data::TokenCache(cache_).identity()}) {
    EXPECT_THAT(result.output, HasSubstr(part));
  }
}

TEST_F(PrepareVerify, NamesWhatIsDamaged) {
  std::string bytes = read_file(cache_ / "train-00001.bin");
  bytes[100] ^= 1;
  write_file_atomically(cache_ / "train-00001.bin", bytes);
  expect_refused("train-00001.bin: the checksum differs");
  std::filesystem::resize_file(cache_ / "validation-00000.bin", 10);
  expect_refused("validation-00000.bin: the shard is truncated");
}

TEST_F(PrepareVerify, MakesNothing) {
  std::filesystem::remove_all(cache_);
  expect_refused("does not exist");
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

}  // namespace
}  // namespace saddle
