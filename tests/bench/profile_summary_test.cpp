// Summaries and traces of planted profiles.
#include "bench/profile_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "bench/trace.h"
#include "support/temporary_directory.h"

namespace saddle::bench {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

// Two updates of 10 s: twice "a" 4 s, with "b" 1 s inside, and once "c" 2 s.
backend::Profile planted() {
  backend::Profile profile(2);
  for (const int64_t at : {0L, 20L}) {
    profile.open("update", "update", 0, at * kSecond);
    profile.open("forward", "a", 6e9, (at + 1) * kSecond);
    profile.open("forward", "b", 0, (at + 2) * kSecond);
    profile.add_share(1, (at + 2) * kSecond, (at + 3) * kSecond - 1);
    profile.close((at + 3) * kSecond);
    profile.close((at + 5) * kSecond);
    profile.open("adjoint", "a", 0, (at + 6) * kSecond + 1);
    profile.close((at + 8) * kSecond + 1);
    profile.close((at + 10) * kSecond);
  }
  return profile;
}

TEST(ProfileSummary, HasTheTimesOfPlantedRegions) {
  const ProfileSummary summary = summarize(planted());
  EXPECT_DOUBLE_EQ(summary.wall_seconds, 20);
  EXPECT_DOUBLE_EQ(summary.covered_seconds, 12);
  EXPECT_DOUBLE_EQ(summary.covered_share(), 0.6);
  ASSERT_EQ(summary.operations.size(), 3U);
  const std::vector<std::string> names = {"forward a", "adjoint a", "forward b"};
  const std::vector<double> self = {6, 4, 2};
  const std::vector<double> total = {8, 4, 2};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(summary.operations[i].name, names[i]);
    EXPECT_EQ(summary.operations[i].calls, 2);
    EXPECT_DOUBLE_EQ(summary.operations[i].self_seconds, self[i]);
    EXPECT_DOUBLE_EQ(summary.operations[i].total_seconds, total[i]);
  }
  const Json json = to_json(summary, 4e9);
  EXPECT_DOUBLE_EQ(json["operations"][0]["operations_per_second"].get<double>(), 2e9);
  EXPECT_DOUBLE_EQ(json["operations"][0]["share_of_peak"].get<double>(), 0.5);
  EXPECT_TRUE(json["operations"][1]["operations_per_second"].is_null());
  EXPECT_TRUE(json["operations"][1]["share_of_peak"].is_null());
  const std::string table = profile_table(json);
  EXPECT_THAT(table, HasSubstr("forward a"));
  EXPECT_THAT(table, HasSubstr("40.0"));  // percent between operations
  EXPECT_THAT(table, HasSubstr("n/a"));
}

// Of 10 s, two threads are at work from 3 to 4 s, and three from 6 to 8 s (two of them to 9 s).
TEST(ProfileSummary, MeasuresWhenAtMostOneThreadWorks) {
  backend::Profile profile(3);
  profile.open("update", "update", 0, 0);
  profile.open("forward", "a", 0, 1 * kSecond);
  profile.add_share(0, 2 * kSecond, 4 * kSecond);
  profile.add_share(1, 3 * kSecond, 5 * kSecond);
  profile.add_share(0, 6 * kSecond, 9 * kSecond);
  profile.add_share(1, 6 * kSecond, 8 * kSecond);
  profile.add_share(2, 6 * kSecond, 9 * kSecond);
  profile.close(9 * kSecond);
  profile.close(10 * kSecond);
  const ProfileSummary summary = summarize(profile);
  EXPECT_DOUBLE_EQ(summary.single_thread_seconds, 6);
  EXPECT_DOUBLE_EQ(to_json(summary, 1)["single_thread_share"].get<double>(), 0.6);
  EXPECT_TRUE(to_json(summarize(backend::Profile(1)), 1)["single_thread_share"].is_null());
}

TEST(ProfileSummary, IsEmptyForAnEmptyProfile) {
  const ProfileSummary summary = summarize(backend::Profile(1));
  EXPECT_EQ(summary.covered_share(), 0);
  EXPECT_EQ(to_json(summary, 1)["operations"], Json::array());
}

TEST(Trace, HasATrackForEachThread) {
  const TemporaryDirectory directory;
  const Path path = directory / "trace.json";
  Trace("a \"name\"", planted()).write(path);
  const Json trace = read_json(path);
  std::vector<std::string> threads;
  Json spans = Json::array();
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      spans.push_back(event);
    } else if (event["name"] == "thread_name") {
      threads.push_back(event["args"]["name"]);
      EXPECT_EQ(event["tid"], threads.size());
    } else if (event["name"] == "process_name") {
      EXPECT_EQ(event["args"]["name"], "a \"name\"");
    }
  }
  EXPECT_EQ(threads, (std::vector<std::string>{"thread 0", "thread 1"}));
  ASSERT_EQ(spans.size(), 10U);
  EXPECT_EQ(spans[0], Json::parse(R"({"name": "update", "cat": "update", "ph": "X", "ts": 0.0,
                                      "dur": 1e7, "pid": 1, "tid": 1})"));
  EXPECT_EQ(spans[3]["ts"], 6000000.001);  // all digits of the nanoseconds
  EXPECT_EQ(spans[8]["tid"], 2);
  EXPECT_EQ(spans[8]["name"], "b");
  EXPECT_EQ(spans[8]["dur"], 999999.999);
}

// The clock shows the same time at both beginnings and at both ends.
TEST(Trace, HasARegionAroundAShareOfTheSameLength) {
  backend::Profile profile(1);
  profile.open("forward", "a", 0, 5);
  profile.add_share(0, 5, 9);
  profile.close(9);
  const TemporaryDirectory directory;
  const Path path = directory / "trace.json";
  Trace("x", profile).write(path);
  const Json trace = read_json(path);
  std::vector<std::string> categories;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") categories.push_back(event["cat"]);
  }
  EXPECT_EQ(categories, (std::vector<std::string>{"forward", "share"}));
}

}  // namespace
}  // namespace saddle::bench
