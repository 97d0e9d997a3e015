// The frame of the program: help, usage errors, and standard output and error.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/json.h"
#include "config/options.h"
#include "support/closed_pipe.h"
#include "support/run_program.h"

namespace saddle {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

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
  EXPECT_THAT(names, ::testing::IsSupersetOf({"tokenizer", "prepare", "options", "version"}));
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

// The README's table has each command once, under its first word.
TEST(CommandLine, TheReadmeListsTheCommands) {
  std::istringstream readme(read_file(Path(SADDLE_SOURCE_DIR) / "README.md"));
  std::vector<std::string> listed;
  const std::string row = "| `saddle ";
  for (std::string line; std::getline(readme, line);) {
    if (!line.starts_with(row)) continue;
    listed.push_back(line.substr(row.size(), line.find_first_of(" `", row.size()) - row.size()));
  }
  EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(commands()));
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
  EXPECT_FALSE(description.at("libraries").at("tokenizer").get<std::string>().empty());
}

TEST(CommandLine, ErrorsOfSettingsAreOneLineAndTheCodeOfTheirKind) {
  struct Case {
    std::string arguments;
    ErrorKind kind;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"--set model.layer=3", ErrorKind::kConfig,
       "--set model.layer=3: unknown setting model.layer; did you mean model.layers?"},
      {"--set model.layers=3 --set model.heads=7", ErrorKind::kConfig,
       "model.width (320) must be a multiple of model.heads (7)"},
      {"--set optimizer.lr=-1", ErrorKind::kConfig,
       "--set optimizer.lr=-1: optimizer.lr is -1, but must be a number of at least 0"},
      {"", ErrorKind::kConfig, "data.source is not given, and this command needs it"},
      {"--set data.source=x --set data.dataset=c4", ErrorKind::kConfig,
       "data.source (x) and data.dataset (c4) are both given"},
      {"--set data.source=x", ErrorKind::kConfig, "data.tokenizer is not given"},
      {"--set data.base_ulr=https://me:secret@host", ErrorKind::kConfig,
       "--set data.base_ulr=https://***@host: unknown setting data.base_ulr"},
      {"--set runtime.device=cpu --set runtime.sdpa_backend=flash", ErrorKind::kDevice,
       "runtime.sdpa_backend flash"},
      {"--config /nowhere/a.yaml", ErrorKind::kIo, "/nowhere/a.yaml"},
      {"--config '/nowhere/\x1b[2J\n'", ErrorKind::kIo, "/nowhere/\\x1b[2J\\x0a"},
      {"'\x1b\n'", ErrorKind::kUsage, "\\x1b\\x0a"},
      {"--set model.layers", ErrorKind::kUsage, "must have the form dotted.key=value"},
      {"--set model.layers=3 model.heads=5", ErrorKind::kUsage, "model.heads=5"},
  };
  for (const Case& row : cases) {
    const ProgramResult result = run_saddle("prepare " + row.arguments);
    EXPECT_EQ(result.exit_code, exit_code(row.kind)) << row.arguments;
    EXPECT_EQ(result.output, "") << row.arguments;
    EXPECT_THAT(result.errors, MatchesRegex("saddle: error: [^\n]*\n")) << row.arguments;
    EXPECT_THAT(result.errors, HasSubstr(row.message));
    EXPECT_THAT(result.errors, Not(HasSubstr("secret"))) << row.arguments;
  }
}

TEST(CommandLine, APathWithALineEndStaysInItsLine) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 200; ++i) text += fmt::format("the cat {} sat on mat {}\n", i, i * i);
  write_file_atomically(directory / "text", text);
  const ProgramResult result =
      run_saddle("tokenizer train --vocab-size 300 --input '" + (directory / "text").string() +
                 "' --output '" + (directory / "a\n\tb").string() + "'");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, MatchesRegex("[^\n\t]*/a.x0a.x09b: 300 pieces[^\n\t]*\n"));
}

// The text and the checkpoint do not exist either: the output is checked before them.
TEST(CommandLine, AFileThatCannotBeWrittenIsRefusedBeforeTheWork) {
  for (const std::string arguments :
       {"tokenizer train --input /nowhere/text --output /nowhere/else/a.model",
        "evaluate --checkpoint /nowhere/weights --json /nowhere/else/a.json"}) {
    const ProgramResult result = run_saddle(arguments);
    EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kIo)) << arguments;
    EXPECT_THAT(result.errors, MatchesRegex("saddle: error: [^\n]*/nowhere/else/a[^\n]*\n"));
  }
}

TEST(CommandLine, OutputThatCannotBeWrittenIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  for (const std::string command : {"options", "version", "--help"}) {
    const ProgramResult result = run_saddle(command + " >/dev/full");
    EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kIo)) << command;
  }
}

TEST(CommandLine, AClosedPipeIsAnError) {
  for (const char* command : {"options", "version", "--help", "prepare --help"}) {
    EXPECT_EQ(run_saddle_into_closed_pipe(STDOUT_FILENO, command), exit_code(ErrorKind::kIo))
        << command;
  }
}

TEST(CommandLine, PathsThatTheSystemRefusesAreErrors) {
  const std::string path = "/tmp/" + std::string(300, 'x');
  for (const std::string& arguments :
       {"prepare --verify --set data.cache=" + path,
        "prepare --set data.source=" + path + " --set data.tokenizer=" + path,
        "evaluate --set data.cache=" + path + " --checkpoint x",
        "compare-runs " + path + " " + path, "train --set runtime.output_dir=" + path,
        "export --checkpoint " + path + " --output " + path,
        "import --input " + path + " --output " + path}) {
    const ProgramResult result = run_saddle(arguments);
    EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kIo)) << arguments << result.errors;
    EXPECT_THAT(result.errors, MatchesRegex("saddle: error: [^\n]*\n")) << arguments;
    EXPECT_THAT(result.errors, HasSubstr("File name too long"));
  }
}

}  // namespace
}  // namespace saddle
