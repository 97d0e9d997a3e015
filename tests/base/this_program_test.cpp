#include "base/this_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temporary_directory.h"

namespace saddle {
namespace {

TEST(ThisProgram, RunsAgain) {
  const ProcessResult result = run_this_program({"--gtest_list_tests"}, {});
  EXPECT_TRUE(result.succeeded());
  EXPECT_THAT(result.output, ::testing::HasSubstr("ThisProgram."));
}

TEST(ThisProgram, IsItsFileAndACopyOfIt) {
  const TemporaryDirectory directory;
  const Path file = path_of_this_program();
  EXPECT_EQ(file, std::filesystem::read_symlink(kRunningProgram));
  EXPECT_TRUE(is_this_program(file));
  std::filesystem::create_symlink(file, directory / "link");
  EXPECT_TRUE(is_this_program(directory / "link"));
  std::filesystem::copy_file(file, directory / "copy");
  EXPECT_TRUE(is_this_program(directory / "copy"));
  AppendFile(directory / "copy").write("x");
  EXPECT_FALSE(is_this_program(directory / "copy"));
  EXPECT_FALSE(is_this_program(directory / "none"));
  EXPECT_FALSE(is_this_program(directory.path()));
}

}  // namespace
}  // namespace saddle
