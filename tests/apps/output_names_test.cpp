// Options that name an output: links, pipes, standard output and unwritable paths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/exit_codes.h"
#include "base/json.h"
#include "report/planted_run.h"
#include "support/run_program.h"

namespace saddle {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class OutputNames : public ::testing::Test {
 protected:
  OutputNames() {
    report::PlantedRun().write(directory_ / "a");
    report::PlantedRun().write(directory_ / "b");
  }

  ProgramResult compare(const std::string& json) const {
    return run_saddle("compare-runs " + (directory_ / "a").string() + " " +
                      (directory_ / "b").string() + " --json " + json);
  }

  TemporaryDirectory directory_;
};

TEST_F(OutputNames, ALinkIsWrittenThrough) {
  make_directories(directory_ / "elsewhere");
  write_file_atomically(directory_ / "elsewhere/file.json", "old");
  std::filesystem::create_symlink("elsewhere/file.json", directory_ / "link");
  const ProgramResult result = compare((directory_ / "link").string());
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link"));
  EXPECT_TRUE(read_json(directory_ / "elsewhere/file.json").is_object());
}

// Even if standard output is a file: earlier and later output remains.
TEST_F(OutputNames, StandardOutputIsNotReplaced) {
  const std::string table = compare("/dev/null").output;
  EXPECT_THAT(table, HasSubstr("loss"));
  const std::string json = compare("/dev/stdout").output;
  EXPECT_THAT(json, StartsWith("{\n"));
  EXPECT_THAT(json, EndsWith("}\n" + table));
  EXPECT_EQ(compare("/dev/stdout | cat").output, json);
  EXPECT_EQ(compare("/proc/self/fd/1; echo after").output, json + "after\n");
  const Path log = directory_ / "log";
  write_file_atomically(log, "before\n");
  EXPECT_EQ(compare("/dev/stdout >>" + log.string()).exit_code, 0);
  EXPECT_EQ(read_file(log), "before\n" + json);
  EXPECT_EQ(compare("/dev/fd/3 3>" + log.string()).output, table);
  EXPECT_EQ(read_file(log) + table, json);
}

// By the same name, by a link, by a hard link; and two outputs, of which none exists yet.
TEST_F(OutputNames, AnOutputIsNoInputAndNoOtherOutput) {
  const Path text = directory_ / "text";
  write_file_atomically(text, "some words\n");
  std::filesystem::create_symlink("text", directory_ / "link");
  std::filesystem::create_hard_link(text, directory_ / "hard");
  for (const char* name : {"text", "./text", "link", "hard"}) {
    const ProgramResult result =
        run_saddle("tokenizer train --vocab-size 300 --input " + text.string() + " --output " +
                   (directory_ / name).string());
    EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kUsage)) << name << ": " << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("--output and --input are the same file")) << name;
    EXPECT_EQ(read_file(text), "some words\n");
  }
  const ProgramResult both = run_saddle("import --input " + directory_.path().string() +
                                        " --output " + (directory_ / "new").string() +
                                        " --config-output " + (directory_ / "./new").string());
  EXPECT_EQ(both.exit_code, exit_code(ErrorKind::kUsage)) << both.errors;
  EXPECT_THAT(both.errors, HasSubstr("--output and --config-output are the same file"));
}

TEST_F(OutputNames, UnwritablePathsAreErrors) {
  std::filesystem::create_symlink("missing/file", directory_ / "link");
  for (const Path& path :
       {directory_ / "a", directory_ / "link", directory_ / "missing" / "file"}) {
    const ProgramResult result = compare(path.string());
    EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kIo)) << path;
    EXPECT_THAT(result.errors, HasSubstr("cannot write '" + path.string())) << path;
  }
  EXPECT_EQ(compare("/dev/stdin </dev/null").exit_code, exit_code(ErrorKind::kIo));
}

}  // namespace
}  // namespace saddle
