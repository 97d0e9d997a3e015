// The frame of the program: help, usage errors, and where text goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "base/json.h"
#include "config/options.h"
#include "support/run_program.h"

namespace saddle {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// The commands that `saddle --help` lists.
std::vector<std::string> commands() {
  std::istringstream help(run_saddle("--help").output);
  std::vector<std::string> names;
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (listed && line.starts_with("  ") && line[2] != ' ') names.push_back(word);
    if (word.empty()) listed = false;
    if (line == "Subcommands:") listed = true;
  }
  return names;
}

TEST(CommandLine, HelpListsTheCommandsAndEachHasHelp) {
  const std::vector<std::string> names = commands();
  EXPECT_THAT(names, ::testing::IsSupersetOf({"options", "version"}));
  for (const std::string& name : names) {
    const ProgramResult result = run_saddle(name + " --help");
    EXPECT_EQ(result.exit_code, kExitSuccess);
    EXPECT_THAT(result.output, HasSubstr("Usage: saddle " + name));
    EXPECT_EQ(result.errors, "");
    if (result.output.find("--set") != std::string::npos) {
      EXPECT_THAT(result.output, HasSubstr("docs/options.md")) << name;
    }
  }
}

TEST(CommandLine, UsageErrorsAreOneLineAndCode2) {
  for (const char* arguments : {"", "optons", "options --nonsense", "options extra", "--config"}) {
    const ProgramResult result = run_saddle(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_EQ(result.output, "") << arguments;
    EXPECT_THAT(result.errors, MatchesRegex("saddle: error: [^\n]*--help[^\n]*\n")) << arguments;
  }
  EXPECT_THAT(run_saddle("options --nonsense").errors, HasSubstr("--nonsense"));
  EXPECT_THAT(run_saddle("options --nonsense").errors, HasSubstr("(see saddle options --help)"));
}

TEST(CommandLine, OptionsPrintsThePage) {
  const ProgramResult result = run_saddle("options");
  EXPECT_EQ(result.exit_code, kExitSuccess);
  EXPECT_EQ(result.output, config::options_markdown());
}

TEST(CommandLine, VersionIsJson) {
  const ProgramResult result = run_saddle("version");
  EXPECT_EQ(result.exit_code, kExitSuccess);
  const Json description = parse_json(result.output, "saddle version");
  EXPECT_FALSE(description.at("build").at("version").get<std::string>().empty());
  EXPECT_GE(description.at("machine").at("cores").get<int>(), 1);
}

TEST(CommandLine, OutputThatCannotBeWrittenIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  for (const std::string command : {"options", "version", "--help"}) {
    const ProgramResult result = run_saddle(command + " >/dev/full");
    EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kIo)) << command;
  }
}

}  // namespace
}  // namespace saddle
