// scripts/fresh-machine.sh deletes only files that it made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/process.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

using ::testing::HasSubstr;

TEST(FreshMachine, RefusesAFolderThatIsNotItsOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "the script needs root";
  const TemporaryDirectory directory;
  const Path kept = directory / "root" / "kept";
  std::filesystem::create_directory(directory / "root");
  write_file_atomically(kept, "text");
  const ProcessResult result = run_process(
      {SADDLE_SOURCE_DIR "/scripts/fresh-machine.sh", "--output", directory.path()}, {});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("is neither empty nor a machine of this script"));
  EXPECT_EQ(read_file(kept), "text");
}

}  // namespace
}  // namespace saddle
