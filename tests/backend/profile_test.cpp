// Profiles: times of planted regions, and the shares of real threads.
#include "backend/profile.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/parallel.h"
#include "base/error.h"
#include "support/products.h"

namespace saddle::backend {
namespace {

TEST(Profile, GivesEachRegionItsOwnTime) {
  Profile profile(1);
  profile.open("g", "outer", 0, 100);
  profile.open("g", "first", 7, 110);
  profile.open("h", "inner", 0, 120);
  profile.close(150);
  profile.close(200);
  profile.open("g", "second", 0, 200);
  profile.close(260);
  profile.close(300);
  profile.open("g", "later", 0, 1000);
  profile.close(1001);
  const auto& regions = profile.regions();
  ASSERT_EQ(regions.size(), 5U);
  const std::vector<std::vector<int64_t>> expected = {{100, 300, 50, 0},
                                                      {110, 200, 60, 1},
                                                      {120, 150, 30, 2},
                                                      {200, 260, 60, 1},
                                                      {1000, 1001, 1, 0}};
  const std::vector<std::string> names = {"outer", "first", "inner", "second", "later"};
  for (size_t i = 0; i < expected.size(); ++i) {
    const Profile::Region& region = regions[i];
    EXPECT_EQ((std::vector{region.begin, region.end, region.self, region.depth}), expected[i]);
    EXPECT_EQ(region.name, names[i]);
  }
  EXPECT_EQ(regions[1].operations, 7);
}

TEST(Profile, RefusesAnEndWithoutABeginning) {
  Profile profile(1);
  EXPECT_THROW(profile.close(1), Error);
}

// An exception ends the regions that it leaves.
TEST(Profile, EndsRegionsThatAnExceptionLeaves) {
  Profile profile(1);
  try {
    const ProfiledRegion outer(&profile, "g", "outer");
    const ProfiledRegion inner(&profile, "g", "inner");
    throw 1;
  } catch (int) {
  }
  for (const Profile::Region& region : profile.regions()) EXPECT_GE(region.end, region.begin);
  EXPECT_THROW(profile.close(1), Error);  // nothing is open
}

#if !defined(__SANITIZE_THREAD__)  // loops run on one thread under it

TEST(Profile, RecordsTheSharesOfThreadsInLoops) {
  Context context(2);
  Profile profile(2);
  context.set_profile(&profile);
  std::vector<int> done(10);
  {
    const ProfiledRegion region(&profile, "g", "even");
    parallel_for(context, 10, [&](int64_t i) { ++done[static_cast<size_t>(i)]; });
  }
  {
    const ProfiledRegion region(&profile, "g", "tasks");
    parallel_tasks(context, 10, [&](Context&, int64_t i) { ++done[static_cast<size_t>(i)]; });
  }
  context.set_profile(nullptr);
  parallel_for(context, 10, [&](int64_t i) { ++done[static_cast<size_t>(i)]; });
  EXPECT_EQ(done, std::vector<int>(10, 3));
  for (int thread = 0; thread < 2; ++thread) {
    const auto& shares = profile.shares(thread);
    ASSERT_EQ(shares.size(), 2U);
    for (size_t i = 0; i < 2; ++i) {
      const Profile::Region& region = profile.regions()[i];
      EXPECT_STREQ(shares[i].name, region.name);
      EXPECT_GE(shares[i].begin, region.begin);
      EXPECT_LE(shares[i].begin, shares[i].end);
      EXPECT_LE(shares[i].end, region.end);
    }
  }
}

#endif

// A product shared by the library counts for every thread; one inside a loop belongs to the loop.
TEST(Profile, RecordsProductsForAllThreads) {
  Context context(2);
  Profile profile(2);
  context.set_profile(&profile);
  const std::vector<float> a(64 * 64, 1);
  std::vector<float> c(64 * 64);
  const auto multiply = [&] {
    gemm(context, Transpose::kNo, Transpose::kNo, 64, 64, 64, 1, a.data(), 64, a.data(), 64, 0,
         c.data(), 64);
  };
  {
    const ProfiledRegion region(&profile, "g", "product");
    multiply();
  }
  ASSERT_EQ(profile.shares(0).size(), 1U);
  ASSERT_EQ(profile.shares(1).size(), 1U);
  EXPECT_STREQ(profile.shares(1)[0].name, "product");
  context.set_profile(nullptr);
  multiply();
  EXPECT_EQ(profile.shares(0).size(), 1U);
  EXPECT_EQ(c[0], 64);
}

}  // namespace
}  // namespace saddle::backend
