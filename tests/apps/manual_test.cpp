// The manual page and the completion agree with --help, command by command; the tests read the text
// of --help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/process.h"
#include "config/fields.h"
#include "support/run_program.h"

namespace saddle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

struct Help {
  std::string words;  // "tokenizer train"
  std::set<std::string> options;
  std::set<std::string> commands;
};

// The names in "-h,--help", at the start of a line of help.
void add_names(const std::string& word, std::set<std::string>& names) {
  std::istringstream text(word);
  for (std::string name; std::getline(text, name, ',');) names.insert(name);
}

Help read_help(const std::string& words) {
  Help help;
  help.words = words;
  std::istringstream text(run_saddle(words + " --help").output);
  bool commands = false;
  for (std::string line; std::getline(text, line);) {
    std::string word;
    std::istringstream(line) >> word;
    if (word.empty()) commands = false;
    if (word.starts_with('-')) add_names(word, help.options);
    if (commands && line.starts_with("  ") && line[2] != ' ') help.commands.insert(word);
    if (line == "Subcommands:") commands = true;
  }
  return help;
}

void add_help(const std::string& words, std::vector<Help>& all) {
  all.push_back(read_help(words));
  for (const std::string& name : std::set<std::string>(all.back().commands)) {
    add_help(words.empty() ? name : words + " " + name, all);
  }
}

// The help of the program, of its commands and of their commands.
std::vector<Help> all_help() {
  std::vector<Help> all;
  add_help("", all);
  return all;
}

std::string without_escapes(std::string text) {
  for (size_t at = 0; (at = text.find("\\-", at)) != std::string::npos; ++at) text.erase(at, 1);
  return text;
}

// The text after `heading`, up to the next heading of its level or above.
std::string section(const std::string& page, const std::string& heading) {
  const size_t begin = page.find(heading + "\n");
  if (begin == std::string::npos) return "";
  return page.substr(begin, page.find("\n.S", begin + 1) - begin);
}

// The names of options in a section: the bold text of each paragraph with a tag.
std::set<std::string> names_in(const std::string& section) {
  std::set<std::string> names;
  const std::string tag = ".TP\n\\fB";
  for (size_t at = 0; (at = section.find(tag, at)) != std::string::npos;) {
    at += tag.size();
    std::istringstream bold(section.substr(at, section.find("\\fR", at) - at));
    for (std::string word; bold >> word;) {
      if (word.ends_with(',')) word.pop_back();
      names.insert(word);
    }
  }
  return names;
}

// The completions that bash offers with the cursor at the end of the last word.
class Completion : public ::testing::Test {
 protected:
  Completion() {
    const ProgramResult result = run_saddle("completion");
    EXPECT_EQ(result.exit_code, 0);
    write_file_atomically(directory_ / "saddle.bash", result.output);
  }

  Words offered(const Words& words) const {
    Words command = {"bash", "--norc", "-c",
                     "source saddle.bash; COMP_WORDS=(saddle \"$@\"); COMP_CWORD=$#; _saddle; "
                     "printf '%s\\n' \"${COMPREPLY[@]}\"",
                     "bash"};
    command.insert(command.end(), words.begin(), words.end());
    const ProcessResult result = run_process(command, {.directory = directory_.path()});
    EXPECT_EQ(result.errors, "");
    Words lines;
    std::istringstream text(result.output);
    for (std::string line; std::getline(text, line);) {
      if (!line.empty()) lines.push_back(line);
    }
    return lines;
  }

  Words offered_after(const std::string& command, const Words& more) const {
    Words words;
    std::istringstream text(command);
    for (std::string word; text >> word;) words.push_back(word);
    words.insert(words.end(), more.begin(), more.end());
    return offered(words);
  }

  const TemporaryDirectory directory_;
};

TEST(Manual, NamesEveryCommandAndItsOptionsAsHelpDoes) {
  const ProgramResult result = run_saddle("manual");
  EXPECT_EQ(result.exit_code, 0);
  const std::string page = without_escapes(result.output);
  const std::vector<Help> all = all_help();
  ASSERT_THAT(all, SizeIs(::testing::Gt(20U)));
  for (const Help& help : all) {
    const bool program = help.words.empty();
    const std::string text =
        section(page, program ? ".SH DESCRIPTION" : ".SS saddle " + help.words);
    EXPECT_EQ(names_in(text), help.options) << help.words;
    EXPECT_THAT(help.options, Contains("--help")) << help.words;
  }
}

TEST(Manual, NamesEverySettingAndExitCode) {
  const std::string page = without_escapes(run_saddle("manual").output);
  for (const config::Field& field : config::setting_fields()) {
    EXPECT_THAT(page, HasSubstr(".TP\n\\fB" + field.key() + "\\fR\n"));
  }
  for (const std::string code : {"0", "2", "3", "4", "5", "6", "7", "70", "75"}) {
    EXPECT_THAT(section(page, ".SH EXIT STATUS"), HasSubstr(".TP\n\\fB" + code + "\\fR\n"));
  }
}

TEST_F(Completion, OffersEveryCommandAndOptionOfHelp) {
  for (const Help& help : all_help()) {
    const Words options = offered_after(help.words, {"-"});
    EXPECT_EQ(std::set<std::string>(options.begin(), options.end()), help.options) << help.words;
    if (help.commands.empty()) continue;
    const Words commands = offered_after(help.words, {""});
    EXPECT_EQ(std::set<std::string>(commands.begin(), commands.end()), help.commands);
  }
}

TEST_F(Completion, OffersTheValuesOfOptions) {
  EXPECT_THAT(offered({"anal"}), ElementsAre("analyze"));
  EXPECT_THAT(offered({"analyze", "--dtype", ""}), UnorderedElementsAre("float32", "float64"));
  EXPECT_THAT(offered({"analyze", "--dtype", "=", "float3"}), ElementsAre("float32"));
  EXPECT_THAT(offered({"analyze", "--amp", "--dty"}), ElementsAre("--dtype"));
  EXPECT_THAT(offered({"analyze", "--random-samples", ""}), IsEmpty());
  EXPECT_THAT(offered({"analyze", "--dtype", "float32", "--dat"}), ElementsAre("--data-case"));

  std::filesystem::create_directory(directory_ / "run one");
  write_file_atomically(directory_ / "run.txt", "");
  EXPECT_THAT(offered({"train", "--resume", ""}),
              UnorderedElementsAre("auto", "run one", "run.txt", "saddle.bash"));
  EXPECT_THAT(offered({"analyze", "--run", "run"}), ElementsAre("run one"));
  EXPECT_THAT(offered({"report", "--runs", "a", "run"}), ElementsAre("run one"));
}

TEST_F(Completion, OffersSettingsAndTheirValues) {
  const Words keys = offered({"train", "--set", ""});
  EXPECT_THAT(keys, SizeIs(config::setting_fields().size()));
  for (const config::Field& field : config::setting_fields()) {
    EXPECT_THAT(keys, Contains(field.key() + "="));
  }
  EXPECT_THAT(offered({"train", "--set", "runtime.dev"}), ElementsAre("runtime.device="));
  EXPECT_THAT(offered({"train", "--set", "runtime.device", "="}),
              UnorderedElementsAre("cpu", "cuda", "auto"));
  EXPECT_THAT(offered({"train", "--set", "=", "runtime.device", "=", "cu"}), ElementsAre("cuda"));
  EXPECT_THAT(offered({"train", "--set", "data.prefetch", "=", "t"}), ElementsAre("true"));
  EXPECT_THAT(offered({"train", "--set", "model.width", "=", ""}), IsEmpty());
  EXPECT_THAT(offered({"train", "--set", "model.width", "=", "64", "--conf"}),
              ElementsAre("--config"));
}

}  // namespace
}  // namespace saddle
