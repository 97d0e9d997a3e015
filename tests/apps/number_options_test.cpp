// Numbers on the command line: decimal and in a range; errors quote the text.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/exit_codes.h"
#include "support/run_program.h"

namespace saddle {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kCommands = {"tokenizer train",   "train",
                                            "generate",          "analyze",
                                            "compare-precision", "benchmark",
                                            "benchmark-hvp",     "benchmark-hvp-candidate",
                                            "benchmark-packed",  "benchmark-packed-worker",
                                            "benchmark-worker",  "sweep",
                                            "submit-analysis"};

// The options of a command whose default is a number, or a list of numbers.
std::vector<std::string> numbers_of(const std::string& command) {
  std::istringstream help(run_saddle(command + " --help").output);
  const std::regex option(R"(\s+(--[a-z-]+) [^ =]+=\[?[0-9][0-9.,]*\]?( .*)?)");
  std::vector<std::string> names;
  std::smatch found;
  for (std::string line; std::getline(help, line);) {
    if (std::regex_match(line, found, option)) names.push_back(found[1]);
  }
  return names;
}

void expect_refused(const std::string& arguments, const std::string& message) {
  const ProgramResult result = run_saddle(arguments);
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kUsage)) << arguments << result.errors;
  EXPECT_THAT(result.errors, HasSubstr(message)) << arguments;
}

// No option is read in the way of the library, to which 0x10 is 16 and 010 is 8.
TEST(NumberOptions, AllAreReadInTheSameWay) {
  size_t count = 0;
  for (const std::string& command : kCommands) {
    for (const std::string& name : numbers_of(command)) {
      if (name == "--noise-samples")
        continue;  // a number or all, read with the rest of its command
      ++count;
      for (const char* text : {"0x10", ""}) {
        expect_refused(fmt::format("{} {} '{}'", command, name, text),
                       fmt::format("{}: '{}' is not a", name, text));
      }
    }
  }
  EXPECT_GE(count, 40U);
  for (const char* option : {"train --parent", "sweep --slurm --walltime-hours",
                             "sweep --slurm --forget", "submit-analysis --walltime-hours"}) {
    expect_refused(fmt::format("{} 0x10", option), "'0x10' is not a");
  }
}

TEST(NumberOptions, TheMessageHasTheTextAndTheRange) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"tokenizer train --vocab-size 65537",
       "--vocab-size: '65537' is not an integer from 2 to 65536 (see saddle tokenizer train "
       "--help)"},
      {"analyze --random-samples 9223372036854775808",
       "--random-samples: '9223372036854775808' is not an integer from 0 to 1000000"},
      {"generate --seed 18446744073709551615",
       "--seed: '18446744073709551615' is not an integer from 0 to 9223372036854775807"},
      {"generate --top-p 1.5", "--top-p: '1.5' is not a number greater than 0 and at most 1"},
      {"benchmark --time-limit inf", "--time-limit: 'inf' is not a number of at least 0"},
      {"benchmark-hvp --time-limit nan", "--time-limit: 'nan' is not a number of at least 0"},
      {"benchmark-packed --time-limit -1", "--time-limit: '-1' is not a number of at least 0"},
      {"benchmark-packed --num-models 2 0", "--num-models: '0' is not an integer from 1 to 1000"},
      {"compare-precision --run a --checkpoint b --output c --noise-samples 1e3",
       "--noise-samples, unless it is 'all': '1e3' is not an integer"},
      {"sweep --grid model.layers=1 --output a --slurm --adopt 0x1=17",
       "--adopt 0x1=17: '0x1' is not an integer from 0 to"},
  };
  for (const auto& [arguments, message] : cases) expect_refused(arguments, message);
}

TEST(NumberOptions, LeadingZerosChangeNothing) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 200; ++i) text += fmt::format("the cat {} sat on mat {}\n", i, i * i);
  write_file_atomically(directory / "text", text);
  const ProgramResult result =
      run_saddle("tokenizer train --vocab-size 0300 --input " + (directory / "text").string() +
                 " --output " + (directory / "model").string());
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("model: 300 pieces"));
}

TEST(NumberOptions, CountsThatWouldFillTheMemoryAreRefused) {
  const std::string many = "1000000000000";
  expect_refused("analyze --run x --output y --random-samples " + many,
                 "--random-samples: '" + many + "' is not an integer from 0 to 1000000");
  expect_refused("analyze --run x --output y --hvp-batch-size " + many, "from 0 to 65536");
  expect_refused("analyze --run x --output y --threads 100000",
                 "--threads: '100000' is not an integer from 0 to 1024");
  const std::string precision = "compare-precision --run x --checkpoint c --output y ";
  expect_refused(precision + "--random-samples " + many, "from 0 to 1000000");
  expect_refused(precision + "--threads 100000",
                 "--threads: '100000' is not an integer from 0 to 1024");
  expect_refused("benchmark-hvp --directions " + many, "from 1 to 1000000");
  expect_refused("benchmark-hvp --batch-sizes " + many, "from 1 to 65536");
  expect_refused("benchmark --data-mode synthetic --output x --windows " + many,
                 "from 1 to 1000000");
  expect_refused("benchmark-worker --output x.json --windows " + many, "from 1 to 1000000");
}

}  // namespace
}  // namespace saddle
