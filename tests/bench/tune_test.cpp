// The staged tuner on planted rates and a planted clock, and candidates that do not end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "base/clock.h"
#include "base/environment.h"
#include "bench/planted_campaign.h"
#include "support/expect_error.h"

namespace saddle::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Compiling gains 5%, a microbatch of 16 then 2%, and max-autotune 40%.
double staged_rate(const config::Settings& settings) {
  double rate = settings.runtime.compile ? 105 : 100;
  if (settings.training.micro_batch_size == 16) rate *= 1.02;
  if (settings.training.micro_batch_size == 4) rate *= 0.5;
  if (settings.runtime.compile_mode == config::CompileMode::kMaxAutotune) rate *= 1.4;
  return rate;
}

TEST(Tuner, KeepsWhatGainsFivePercentAndDropsTwo) {
  PlantedCampaign campaign;
  campaign.rate = staged_rate;
  const BenchmarkOutcome outcome = campaign.tune();
  EXPECT_EQ(campaign.started[0], "given");
  EXPECT_EQ(campaign.started[1], "compiled");
  EXPECT_EQ(outcome.summary["recommended"], "compiled-max-autotune");
  config::Settings recommended = campaign.given;
  recommended.runtime.compile = true;
  recommended.runtime.compile_mode = config::CompileMode::kMaxAutotune;
  EXPECT_EQ(campaign.file("recommended.yaml"), recommended);
  const Json decisions = outcome.summary["decisions"];
  EXPECT_EQ(decisions[0]["stage"], "compile");
  EXPECT_EQ(decisions[0]["base"], "given");
  EXPECT_EQ(decisions[0]["fastest"], "compiled");
  EXPECT_NEAR(decisions[0]["gain"].get<double>(), 0.05, 1e-15);  // one rounding of a quotient
  EXPECT_EQ(decisions[0]["kept"], true);
  EXPECT_EQ(decisions[1]["stage"], "micro_batch_size");
  EXPECT_EQ(decisions[1]["fastest"], "compiled-mb16");
  EXPECT_NEAR(decisions[1]["gain"].get<double>(), 0.02, 1e-15);
  EXPECT_EQ(decisions[1]["kept"], false);
  EXPECT_EQ(decisions[2]["stage"], "compile_mode");
  EXPECT_EQ(decisions[2]["kept"], true);
  // Candidates that a CPU cannot run are left out, with the reason.
  EXPECT_THAT(outcome.summary["left_out"].dump(), HasSubstr("captured CUDA graph"));
  EXPECT_THAT(outcome.summary["left_out"].dump(), HasSubstr("cudnn"));
  EXPECT_THAT(campaign_table(outcome.summary), HasSubstr("kept"));
}

// selected.yaml has the fastest candidate, however small its gain.
TEST(Tuner, SelectsTheFastestEvenForASmallGain) {
  PlantedCampaign campaign;
  campaign.given.runtime.compile = true;
  campaign.rate = [](const config::Settings& settings) {
    return settings.training.micro_batch_size == 16 ? 102 : 100;
  };
  const BenchmarkOutcome outcome = campaign.tune();
  EXPECT_EQ(outcome.summary["selected"], "mb16");
  EXPECT_EQ(outcome.summary["recommended"], "given");
  EXPECT_EQ(campaign.file("recommended.yaml"), campaign.given);
  EXPECT_EQ(campaign.file("selected.yaml").training.micro_batch_size, 16);
}

// Candidates that fail or exceed the memory are not recommended; if the given settings cannot run,
// their replacement needs no gain.
TEST(Tuner, NeverRecommendsACandidateThatDoesNotRun) {
  PlantedCampaign campaign;
  campaign.ends["given"] = {.kind = CandidateEnd::Kind::kFailed, .failure = "out of memory"};
  campaign.ends["compiled"] = campaign.ends["given"];
  campaign.rate = [](const config::Settings& s) { return double(s.training.micro_batch_size); };
  campaign.memory_gib = [](const config::Settings& settings) {
    return settings.training.micro_batch_size == 16 ? 15.9 : 1;
  };
  const BenchmarkOutcome outcome = campaign.tune();
  EXPECT_EQ(row_named(outcome.summary, "mb16")["status"], "over_memory");
  EXPECT_EQ(outcome.summary["selected"], "mb4");
  EXPECT_EQ(outcome.summary["recommended"], "mb4");
  EXPECT_TRUE(outcome.summary["decisions"][1]["gain"].is_null());
  EXPECT_EQ(outcome.summary["decisions"][1]["kept"], true);
}

TEST(Tuner, RecommendsNothingWithoutMeasurements) {
  PlantedCampaign campaign;
  campaign.rate = [](const config::Settings&) { return -1; };
  const BenchmarkOutcome outcome = campaign.tune();
  EXPECT_TRUE(outcome.summary["selected"].is_null());
  EXPECT_TRUE(outcome.summary["recommended"].is_null());
  EXPECT_FALSE(campaign.has_file("selected.yaml"));
  EXPECT_FALSE(campaign.has_file("recommended.yaml"));
}

// 35 seconds are enough for three candidates of ten.
TEST(Tuner, StartsNoCandidateThatWouldExceedTheBudget) {
  PlantedCampaign campaign;
  campaign.rate = staged_rate;
  campaign.benchmark.budget_seconds = 35;
  campaign.options.time_limit_seconds = 20;
  BenchmarkOutcome outcome = campaign.tune();
  EXPECT_EQ(campaign.started.size(), 3U);
  EXPECT_LE(campaign.clock, 35);
  EXPECT_THAT(campaign.limits, ElementsAre(20, 20, 15));  // for the last one: the rest
  EXPECT_EQ(outcome.summary["rows"][3]["status"], "not_started");
  EXPECT_THAT(outcome.summary["rows"][3]["failure"].get<std::string>(), HasSubstr("5 s"));
  EXPECT_EQ(outcome.summary["recommended"], "compiled");
  // A second call continues: finished measurements cost nothing.
  campaign.clock = 0;
  outcome = campaign.tune();
  EXPECT_EQ(campaign.started.size(), 6U);
  campaign.benchmark.budget_seconds = 0;
  expect_error(ErrorKind::kUsage, {"--budget-minutes"}, [&] { campaign.tune(); });
}

TEST(Tuner, NamesTheCandidatesThatTheBudgetEnded) {
  PlantedCampaign campaign;
  campaign.benchmark.budget_seconds = 5;
  campaign.ends["given"] = {.kind = CandidateEnd::Kind::kTimedOut, .failure = "over 5 s"};
  const Json rows = campaign.tune().summary["rows"];
  EXPECT_THAT(rows[0]["failure"].get<std::string>(), HasSubstr("rest of the budget"));
  EXPECT_EQ(rows[1]["failure"], "the budget was used up");
}

TEST(Tuner, TriesThreadCountsAndAllowedMicrobatches) {
  PlantedCampaign campaign;
  campaign.given.runtime.threads = 1000;
  campaign.rate = [](const config::Settings& settings) {
    return 1e6 / static_cast<double>(settings.runtime.threads);
  };
  const BenchmarkOutcome outcome = campaign.tune();
  EXPECT_EQ(outcome.summary["selected"], outcome.summary["recommended"]);
  EXPECT_EQ(campaign.file("recommended.yaml").runtime.threads, std::max(available_cores() / 4, 1));
}

TEST(Tuner, ForAGh200IsRefusedElsewhere) {
  require_gh200("NVIDIA GH200 480GB");
  for (const char* device : {"NVIDIA H100 80GB HBM3", "AMD EPYC 9454"}) {
    expect_error(ErrorKind::kDevice, {"--gh200", device}, [&] { require_gh200(device); });
  }
  EXPECT_FALSE(computing_device().empty());
}

// Whether a process exists and is not a zombie.
bool lives(pid_t process) {
  std::string text;
  try {
    text = read_file(fmt::format("/proc/{}/stat", process));
  } catch (const Error&) {
    return false;
  }
  return text[text.find_last_of(')') + 2] != 'Z';
}

TEST(CandidateWorker, IsKilledWithItsChildAtTheTimeLimit) {
  const TemporaryDirectory directory;
  const std::string ids = directory / "ids";
  const CandidateEnd end = run_candidate_command(
      {"sh", "-c", "echo begun; sleep 60 & echo $$ $! >'" + ids + "'; sleep 60"},
      {.name = "hangs",
       .settings_file = {},
       .record = directory / "record.json",
       .protocol = {},
       .time_limit_seconds = 2},
      [] { return 0; });
  EXPECT_EQ(end.kind, CandidateEnd::Kind::kTimedOut);
  EXPECT_EQ(end.printed, "begun\n");
  std::istringstream numbers(read_file(ids));
  pid_t candidate = 0, child = 0;
  numbers >> candidate >> child;
  ASSERT_GT(child, 0);
  for (const Stopwatch watch; lives(child) && watch.seconds() < 10;) {
  }
  EXPECT_FALSE(lives(candidate));
  EXPECT_FALSE(lives(child));
}

// Its child keeps the terminal open until the time limit, but the candidate itself had ended.
TEST(CandidateWorker, IsMeasuredIfItEndedBeforeItWasKilled) {
  const TemporaryDirectory directory;
  const std::string record = directory / "record.json";
  const CandidateEnd end =
      run_candidate_command({"sh", "-c", "echo '{\"loss\": 1}' >'" + record + "'; sleep 60 &"},
                            {.name = "ended",
                             .settings_file = {},
                             .record = record,
                             .protocol = {},
                             .time_limit_seconds = 2},
                            [] { return 0; });
  EXPECT_EQ(end.kind, CandidateEnd::Kind::kMeasured);
  EXPECT_EQ((*end.record)["loss"], 1);
}

TEST(CandidateWorker, ReportsHowItEnded) {
  const TemporaryDirectory directory;
  const auto run = [&](const std::string& script, int stop = 0) {
    return run_candidate_command({"sh", "-c", script},
                                 {.name = "x",
                                  .settings_file = {},
                                  .record = directory / "record.json",
                                  .protocol = {},
                                  .time_limit_seconds = 60},
                                 [stop] { return stop; });
  };
  EXPECT_EQ(run("echo no >&2; exit 3").failure, "no");
  EXPECT_THAT(run("kill -KILL $$").failure, HasSubstr("memory"));
  EXPECT_THAT(run("true").failure, HasSubstr("record.json"));  // it wrote none
  EXPECT_EQ(run("sleep 60", SIGTERM).kind, CandidateEnd::Kind::kStopped);
  const std::string record = directory / "record.json";
  const CandidateEnd end = run("echo '{\"loss\": 1}' >'" + record + "'");
  EXPECT_EQ(end.kind, CandidateEnd::Kind::kMeasured);
  EXPECT_EQ((*end.record)["loss"], 1);
}

}  // namespace
}  // namespace saddle::bench
