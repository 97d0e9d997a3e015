// The decisions and the stored results of the benchmark, with candidates of planted rates.
#include "bench/campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/gemm.h"
#include "bench/planted_campaign.h"
#include "support/expect_error.h"

namespace saddle::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Grid, SelectsTheFastestCandidateThatFits) {
  PlantedCampaign campaign;
  campaign.rate = [](const config::Settings& settings) {
    return static_cast<double>(settings.training.micro_batch_size) +
           (settings.runtime.compile ? 0.5 : 0);
  };
  const BenchmarkOutcome outcome = campaign.grid();
  EXPECT_THAT(campaign.started,
              ElementsAre("mb4-compile-off", "mb8-compile-off", "mb16-compile-off",
                          "mb4-compile-on", "mb8-compile-on", "mb16-compile-on"));
  EXPECT_EQ(outcome.summary["selected"], "mb16-compile-on");
  ASSERT_EQ(outcome.summary["left_out"].size(), 2U);  // 32 sequences, of a batch of 16
  EXPECT_THAT(outcome.summary["left_out"][0]["reason"].get<std::string>(),
              HasSubstr("training.micro_batch_size (32)"));
  config::Settings expected = campaign.given;
  expected.training.micro_batch_size = 16;
  expected.runtime.compile = true;
  EXPECT_EQ(campaign.file("selected.yaml"), expected);
  EXPECT_FALSE(campaign.has_file("recommended.yaml"));
  const Json row = row_named(outcome.summary, "mb16-compile-off");
  EXPECT_EQ(row["changes"], Json({{"training.micro_batch_size", 16}}));
  EXPECT_EQ(read_file(campaign.options.output / row["log"].get<std::string>()), "planted\n");
  const Json progress = read_json(campaign.options.output / "progress.json");
  EXPECT_EQ(progress["state"], "finished");
  EXPECT_EQ(progress["done"], 6);
  EXPECT_EQ(read_json(campaign.options.output / "summary.json"), outcome.summary);
}

TEST(Grid, ReportsExcessiveMemoryAndSelectsAnotherCandidate) {
  PlantedCampaign campaign;
  campaign.rate = [](const config::Settings& s) { return double(s.training.micro_batch_size); };
  campaign.memory_gib = [](const config::Settings& settings) {
    return settings.training.micro_batch_size == 16 ? 14.5 : 14.4;  // 90% of 16 are 14.4
  };
  BenchmarkOutcome outcome = campaign.grid();
  EXPECT_EQ(row_named(outcome.summary, "mb16-compile-on")["status"], "over_memory");
  EXPECT_EQ(row_named(outcome.summary, "mb16-compile-on")["tokens_per_second"], 16.0);
  EXPECT_EQ(outcome.summary["selected"], "mb8-compile-off");
  // Against the memory available now, or against a given limit, from the same measurements.
  campaign.usable_gib = 15;
  outcome = campaign.grid();
  EXPECT_TRUE(outcome.summary["selected"].is_null());
  campaign.options.memory_gib = 17;
  outcome = campaign.grid();
  EXPECT_EQ(outcome.summary["selected"], "mb16-compile-off");
  campaign.options.memory_gib = 15;
  outcome = campaign.grid();
  EXPECT_TRUE(outcome.summary["selected"].is_null());
  EXPECT_FALSE(campaign.has_file("selected.yaml"));
  EXPECT_EQ(campaign.started.size(), 6U);
}

TEST(Grid, ContinuesAfterFailures) {
  PlantedCampaign campaign;
  campaign.benchmark.micro_batch_sizes = {4, 8};
  campaign.ends["mb4-compile-off"] = {.kind = CandidateEnd::Kind::kFailed,
                                      .record = std::nullopt,
                                      .failure = "ended by signal 11",
                                      .printed = "a crash\n"};
  campaign.ends["mb8-compile-off"] = {.kind = CandidateEnd::Kind::kTimedOut,
                                      .record = std::nullopt,
                                      .failure = "over 5 s",
                                      .printed = ""};
  campaign.rate = [](const config::Settings& settings) {
    return settings.training.micro_batch_size == 4 ? std::nan("") : 50;
  };
  const BenchmarkOutcome outcome = campaign.grid();
  EXPECT_THAT(statuses(outcome.summary), ElementsAre("failed", "timeout", "failed", "measured"));
  EXPECT_EQ(outcome.summary["selected"], "mb8-compile-on");
  const Json row = outcome.summary["rows"][0];
  EXPECT_EQ(row["failure"], "ended by signal 11");
  EXPECT_EQ(read_file(campaign.options.output / row["log"].get<std::string>()), "a crash\n");
  EXPECT_THAT(outcome.summary["rows"][2]["failure"].get<std::string>(),
              HasSubstr("tokens_per_second"));
  EXPECT_THAT(campaign_table(outcome.summary), HasSubstr("ended by signal 11"));
  // Failed candidates are tried again, measured ones are not.
  campaign.ends.clear();
  campaign.started.clear();
  campaign.grid();
  EXPECT_EQ(campaign.started.size(), 3U);
}

TEST(Grid, RefusesSizesOfWhichNoneFits) {
  PlantedCampaign campaign;
  campaign.benchmark.micro_batch_sizes = {32};
  expect_error(ErrorKind::kConfig, {"no microbatch", "training.micro_batch_size (32)"},
               [&] { campaign.grid(); });
  campaign.benchmark.micro_batch_sizes = {0};
  expect_error(ErrorKind::kUsage, {"--micro-batch-sizes"}, [&] { campaign.grid(); });
  campaign.options.protocol.windows = 0;
  expect_error(ErrorKind::kUsage, {"--windows 0"}, [&] { campaign.grid(); });
}

TEST(Campaign, ContinuesWhereItWasStopped) {
  PlantedCampaign campaign;
  campaign.runs_before_stop = 2;
  BenchmarkOutcome outcome = campaign.grid();
  EXPECT_TRUE(outcome.stopped);
  EXPECT_THAT(statuses(outcome.summary),
              ElementsAre("measured", "measured", "waiting", "waiting", "waiting", "waiting"));
  EXPECT_EQ(read_json(campaign.options.output / "progress.json")["state"], "stopped");
  EXPECT_EQ(read_json(campaign.options.output / "progress.json")["done"], 2);
  campaign.runs_before_stop = 1000;
  outcome = campaign.grid();
  EXPECT_FALSE(outcome.stopped);
  EXPECT_EQ(campaign.started.size(), 6U);
  EXPECT_EQ(outcome.summary["rows"][1]["reused"], true);
  EXPECT_EQ(outcome.summary["rows"][2]["reused"], false);
}

// A stopped candidate is not a result.
TEST(Campaign, DropsTheCandidateThatWasStopped) {
  PlantedCampaign campaign;
  campaign.ends["mb8-compile-off"] = {.kind = CandidateEnd::Kind::kStopped};
  const BenchmarkOutcome outcome = campaign.grid();
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.summary["rows"][1]["status"], "waiting");
}

TEST(Campaign, KeepsASecondOneOut) {
  PlantedCampaign campaign;
  const Campaign first("grid", campaign.given, campaign.options, campaign.conditions,
                       campaign.tools, campaign.log);
  expect_error(ErrorKind::kIo, {campaign.options.output.string()}, [&] { campaign.grid(); });
}

TEST(Campaign, RepeatsDamagedMeasurements) {
  PlantedCampaign campaign;
  campaign.benchmark.micro_batch_sizes = {4, 8};
  const Json rows = campaign.grid().summary["rows"];
  write_file_atomically(campaign.options.output / rows[0]["record"].get<std::string>(), "{");
  campaign.started.clear();
  EXPECT_THAT(statuses(campaign.grid().summary),
              ElementsAre("measured", "measured", "measured", "measured"));
  EXPECT_THAT(campaign.started, ElementsAre("mb4-compile-off"));
}

// Files are named by a part of a digest: what they say that they measured decides.
TEST(Campaign, RepeatsMeasurementsOfSomethingElse) {
  PlantedCampaign campaign;
  campaign.benchmark.micro_batch_sizes = {4, 8};
  const Json rows = campaign.grid().summary["rows"];
  std::string name = rows[0]["record"];
  name.replace(name.rfind(".json"), std::string::npos, ".identity.json");
  Json identity = read_json(campaign.options.output / name);
  identity.at("identity")["planted"] = 1;
  write_json(campaign.options.output / name, identity);
  campaign.started.clear();
  campaign.grid();
  EXPECT_THAT(campaign.started, ElementsAre("mb4-compile-off"));
}

// Changes each part of the identity separately, and settings that are not part of it.
TEST(Campaign, ReusesOnlyTheSameMeasurement) {
  PlantedCampaign campaign;
  campaign.benchmark.micro_batch_sizes = {4};
  const auto runs = [&] {
    campaign.started.clear();
    campaign.grid();
    return campaign.started.size();
  };
  EXPECT_EQ(runs(), 2U);
  EXPECT_EQ(runs(), 0U);

  campaign.given.runtime.output_dir = "elsewhere";
  campaign.given.data.cache = "moved";
  campaign.given.training.log_every = 77;
  campaign.given.training.checkpoint_policy = config::CheckpointPolicy::kNone;
  campaign.given.evaluation.subset_blocks = 3;
  campaign.given.runtime.telemetry = true;
  campaign.given.training.micro_batch_size = 16;  // which the grid sets
  campaign.options.time_limit_seconds = 5;
  EXPECT_EQ(runs(), 0U);

  campaign.given.optimizer.grad_clip.reset();
  EXPECT_EQ(runs(), 2U);
  campaign.given.data.prefetch = false;
  EXPECT_EQ(runs(), 2U);
  campaign.given.runtime.amp = true;
  EXPECT_EQ(runs(), 2U);
  campaign.given.runtime.amp = false;
  EXPECT_EQ(runs(), 0U);  // earlier measurements are still stored
  campaign.options.protocol.steps = 50;
  EXPECT_EQ(runs(), 2U);
  campaign.conditions.source_digest = "changed sources";
  EXPECT_EQ(runs(), 2U);
  campaign.conditions.data_identity = "another cache";
  EXPECT_EQ(runs(), 2U);
  campaign.conditions.hardware["processor"] = "another";
  EXPECT_EQ(runs(), 2U);
  campaign.conditions.software["compiler"] = "newer";
  EXPECT_EQ(runs(), 2U);
  EXPECT_EQ(runs(), 0U);

  campaign.options.protocol.data_mode = "synthetic";
  EXPECT_EQ(runs(), 2U);
  campaign.given.data.prefetch = true;  // nothing is read
  EXPECT_EQ(runs(), 0U);
}

// This machine, this program: neither name, time nor load.
TEST(Campaign, KnowsItsConditions) {
  Protocol protocol;
  protocol.data_mode = "synthetic";
  const config::Settings settings = given_settings();
  const Conditions first = present_conditions(settings, protocol);
  const Conditions second = present_conditions(settings, protocol);
  EXPECT_EQ(measurement_identity(settings, protocol, first),
            measurement_identity(settings, protocol, second));
  EXPECT_EQ(first.source_digest.size(), 64U);
  EXPECT_EQ(first.data_identity, "");
  EXPECT_FALSE(first.hardware["processor"].get<std::string>().empty());
  EXPECT_EQ(first.software["products_float32"], backend::product_library<float>());
  EXPECT_EQ(first.software["products_float64"], backend::product_library<double>());
  config::Settings every_core = settings;
  every_core.runtime.threads = 0;
  EXPECT_EQ(measured_settings(every_core, protocol)["runtime.threads"], first.hardware["cores"]);
  protocol.data_mode = "real";
  EXPECT_THROW(present_conditions(settings, protocol), Error);  // the cache is missing
}

}  // namespace
}  // namespace saddle::bench
