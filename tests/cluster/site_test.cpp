// The file of a site, its variables, and the resulting options.
#include "cluster/site.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/process.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Variables variables(const std::map<std::string, std::string>& values) {
  return [values](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
}

constexpr const char* kText =
    "# where we compute\n"
    "account: physics\n"
    "partition: \"long\"   # the slow one\n"
    "gpus: 1\n"
    "\n"
    "options: --exclusive --mail-type=END\n"
    "setup: module load gcc && ulimit -s unlimited\n"
    "signal_seconds: 120\n";

TEST(Site, LinesOfTheFile) {
  const Site site = parse_site(kText, "slurm.yaml", variables({}));
  EXPECT_EQ(site.account, "physics");
  EXPECT_EQ(site.partition, "long");
  EXPECT_EQ(site.setup, "module load gcc && ulimit -s unlimited");
  EXPECT_EQ(site.signal_seconds, 120);
  EXPECT_EQ(site.max_restarts, 100);
  EXPECT_THAT(site_options(site), ElementsAre("--account=physics", "--partition=long",
                                              "--gres=gpu:1", "--exclusive", "--mail-type=END"));
}

TEST(Site, VariablesOverrideTheFile) {
  const Site site =
      parse_site(kText, "slurm.yaml",
                 variables({{"SADDLE_SLURM_PARTITION", "short"}, {"SADDLE_SLURM_GPUS", "0"}}));
  EXPECT_THAT(site_options(site), ElementsAre("--account=physics", "--partition=short",
                                              "--exclusive", "--mail-type=END"));
}

TEST(Site, WithoutAnythingSlurmDecides) {
  EXPECT_TRUE(site_options(parse_site("", "", variables({}))).empty());
  EXPECT_TRUE(site_options(read_site(variables({{"HOME", "/nowhere"}}))).empty());
}

TEST(Site, WrongLinesAreRefused) {
  expect_error(ErrorKind::kConfig, {"slurm.yaml:2", "'partitoin'", "partition"},
               [] { parse_site("account: a\npartitoin: b\n", "slurm.yaml", variables({})); });
  expect_error(ErrorKind::kConfig, {"slurm.yaml:1", "'key: value'"},
               [] { parse_site("account\n", "slurm.yaml", variables({})); });
  expect_error(ErrorKind::kConfig, {"signal_seconds", "soon"},
               [] { parse_site("signal_seconds: soon\n", "slurm.yaml", variables({})); });
}

TEST(Site, ReadsBackFromTheRecord) {
  const Site site = parse_site(kText, "slurm.yaml", variables({}));
  EXPECT_EQ(to_json(site_of_json(to_json(site), "record")), to_json(site));
}

TEST(Site, QuotedTextStaysOneOption) {
  const auto options = [](const std::string& text) {
    return site_options(parse_site("options: " + text + "\n", "slurm.yaml", variables({})));
  };
  EXPECT_THAT(options(R"(--comment="my job" --exclusive)"),
              ElementsAre("--comment=my job", "--exclusive"));
  EXPECT_THAT(options(R"('--comment=it "is" mine')"), ElementsAre(R"(--comment=it "is" mine)"));
  EXPECT_THAT(options(R"("--a b"  "--c d" # the rest)"), ElementsAre("--a b", "--c d"));
  EXPECT_THAT(options(R"(--a\ b --c='' )"), ElementsAre("--a b", "--c="));
  expect_error(ErrorKind::kConfig, {"slurm.yaml:1", "--comment=\"my", "not closed"},
               [&] { options("--comment=\"my job"); });
}

// The words that scripts/slurm.sh passes to a fake sbatch, outside of a job with these variables.
std::string submitted_by_script(const std::vector<std::string>& set,
                                const std::vector<std::string>& words) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "sbatch", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
  std::filesystem::permissions(directory / "sbatch", std::filesystem::perms::owner_all);
  write_file_atomically(directory / "slurm.yaml", kText);
  std::vector<std::string> command = {"env", "-u", "SLURM_JOB_ID",
                                      "PATH=" + directory.path().string() + ":/usr/bin:/bin",
                                      "SADDLE_SLURM_SITE=" + (directory / "slurm.yaml").string()};
  command.insert(command.end(), set.begin(), set.end());
  command.emplace_back(SADDLE_SOURCE_DIR "/scripts/slurm.sh");
  command.insert(command.end(), words.begin(), words.end());
  const ProcessResult result = run_process(command, {.directory = directory.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return result.output;
}

std::string one_a_line(const std::vector<std::string>& words) {
  return fmt::format("{}\n", fmt::join(words, "\n"));
}

// The script reads the same file: outside of a job it passes the site's options to sbatch.
TEST(Site, TheScriptGivesTheSameOptions) {
  EXPECT_EQ(submitted_by_script({"SADDLE_SLURM_QOS=fast"},
                                {"--time=1:00:00", "train", "--config", "a b.yaml"}),
            one_a_line({"--account=physics", "--partition=long", "--qos=fast", "--gres=gpu:1",
                        "--signal=B:USR1@120", "--exclusive", "--mail-type=END", "--time=1:00:00",
                        SADDLE_SOURCE_DIR "/scripts/slurm.sh", "train", "--config", "a b.yaml"}));
}

TEST(Site, TheScriptKeepsQuotedOptionsTogetherToo) {
  const std::string text = R"(SADDLE_SLURM_OPTIONS=--comment="my job" '--a "b" c' d\ e)";
  const Site site =
      parse_site("", "", variables({{"SADDLE_SLURM_OPTIONS", text.substr(text.find('=') + 1)}}));
  EXPECT_THAT(site_options(site), ElementsAre("--comment=my job", R"(--a "b" c)", "d e"));
  EXPECT_EQ(submitted_by_script({text}, {"version"}),
            one_a_line({"--account=physics", "--partition=long", "--gres=gpu:1",
                        "--signal=B:USR1@120", "--comment=my job", R"(--a "b" c)", "d e",
                        SADDLE_SOURCE_DIR "/scripts/slurm.sh", "version"}));
}

// As they override #SBATCH lines; a typed option overrides them.
TEST(Site, TheVariablesOfSbatchOverrideTheSiteInTheScript) {
  EXPECT_EQ(
      submitted_by_script(
          {"SBATCH_ACCOUNT=a", "SBATCH_PARTITION=short", "SBATCH_QOS=q", "SBATCH_CONSTRAINT=c",
           "SBATCH_TIMELIMIT=10", "SBATCH_MEM_PER_NODE=1G", "SBATCH_GRES=gpu:2",
           "SBATCH_SIGNAL=B:USR1@60", "SADDLE_SLURM_QOS=x", "SADDLE_SLURM_CONSTRAINT=x",
           "SADDLE_SLURM_TIME=20", "SADDLE_SLURM_MEMORY=2G", "SADDLE_SLURM_CPUS=4"},
          {"--partition=typed", "version"}),
      one_a_line({"--cpus-per-task=4", "--exclusive", "--mail-type=END", "--partition=typed",
                  SADDLE_SOURCE_DIR "/scripts/slurm.sh", "version"}));
}

// After a restart by Slurm, training continues from its newest state, whatever it began with.
TEST(Site, TheScriptResumesTrainingOnARestart) {
  const TemporaryDirectory directory;
  const auto words = [&](const std::string& restarts, const std::vector<std::string>& more) {
    std::vector<std::string> command = {"env",
                                        "SLURM_JOB_ID=17",
                                        "SLURM_RESTART_COUNT=" + restarts,
                                        "SADDLE_SLURM_SITE=/dev/null",
                                        "SADDLE_SLURM_PROGRAM=echo",
                                        SADDLE_SOURCE_DIR "/scripts/slurm.sh"};
    command.insert(command.end(), more.begin(), more.end());
    const ProcessResult result = run_process(command, {.directory = directory.path()});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output;
  };
  EXPECT_THAT(words("0", {"train", "--config", "a"}), HasSubstr("\ntrain --config a\n"));
  EXPECT_THAT(words("1", {"train", "--config", "a"}),
              HasSubstr("\ntrain --config a --resume auto\n"));
  EXPECT_THAT(words("2", {"train", "--resume", "old", "--config", "a"}),
              HasSubstr("\ntrain --config a --resume auto\n"));
  EXPECT_THAT(words("2", {"train", "--resume=old", "--config", "a"}),
              HasSubstr("\ntrain --config a --resume auto\n"));
  EXPECT_THAT(words("2", {"analyze", "--run", "a"}), HasSubstr("\nanalyze --run a\n"));
}

}  // namespace
}  // namespace saddle::cluster
