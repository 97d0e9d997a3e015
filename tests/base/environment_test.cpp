#include "base/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/cgroup.h"
#include "base/process.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

TEST(Environment, DescribesTheBuild) {
  const Json build = build_description();
  EXPECT_THAT(build.at("version").get<std::string>(),
              ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(build.at("revision").get<std::string>(),
              ::testing::MatchesRegex("unknown|[0-9a-f]{40}"));
  EXPECT_THAT(build.at("source_digest").get<std::string>(),
              ::testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(build.at("changed").is_null(), build.at("revision") == "unknown");
  EXPECT_THAT(build.at("compiler").get<std::string>(), ::testing::MatchesRegex("[A-Z].* [0-9].*"));
  EXPECT_THAT(build.at("flags").get<std::string>(), ::testing::HasSubstr("-Wall"));
  EXPECT_THAT(build.at("operation_flags").get<std::string>(),
              ::testing::Not(::testing::HasSubstr("-ffast-math")));
  EXPECT_FALSE(build.at("build_type").get<std::string>().empty());
}

// The digest that cmake/revision.cmake writes for a tree.
std::string digest_of(const Path& tree, const Path& output) {
  const ProcessResult result =
      run_process({"cmake", "-D", "SOURCE=" + tree.string(), "-D", "OUTPUT=" + output.string(),
                   "-P", SADDLE_SOURCE_DIR "/cmake/revision.cmake"},
                  {});
  EXPECT_TRUE(result.succeeded()) << result.errors;
  const std::string text = read_file(output);
  const std::string name = "SADDLE_SOURCE_DIGEST \"";
  const size_t begin = text.find(name);
  EXPECT_NE(begin, std::string::npos) << text;
  return text.substr(begin + name.size(), 64);
}

// The digest covers the names and contents of what is compiled, and nothing else. The header is not
// rewritten if it would stay the same, so that nothing is rebuilt.
TEST(Environment, IdentifiesItsSourcesByTheirContents) {
  const TemporaryDirectory directory;
  const Path tree = directory / "tree";
  const Path output = directory / "revision.h";
  const auto put = [&](const std::string& name, const std::string& content) {
    make_directories((tree / name).parent_path());
    write_file_atomically(tree / name, content);
  };
  put("CMakeLists.txt", "project");
  put("src/room/a.cpp", "one");
  put("src/room/a.h", "two");
  put("apps/saddle/main.cpp", "three");
  put("cmake/rooms.cmake", "four");
  const std::string first = digest_of(tree, output);
  EXPECT_THAT(first, ::testing::MatchesRegex("[0-9a-f]{64}"));
  const auto written = std::filesystem::last_write_time(output);
  put("tests/room/a_test.cpp", "a test");
  put("README.md", "text");
  put("src/room/a.cpp~", "an editor's backup");
  put("src/room/a.cpp", "one");
  EXPECT_EQ(digest_of(tree, output), first);
  EXPECT_EQ(std::filesystem::last_write_time(output), written);
  for (const char* name : {"CMakeLists.txt", "src/room/a.cpp", "src/room/a.h",
                           "apps/saddle/main.cpp", "cmake/rooms.cmake"}) {
    const std::string before = digest_of(tree, output);
    put(name, std::string("changed ") + name);
    EXPECT_NE(digest_of(tree, output), before) << name;
  }
  const std::string before = digest_of(tree, output);
  std::filesystem::rename(tree / "src/room/a.cpp", tree / "src/room/b.cpp");
  EXPECT_NE(digest_of(tree, output), before);
}

TEST(Environment, DescribesTheMachine) {
  const Json machine = machine_description();
  EXPECT_FALSE(machine.at("processor").get<std::string>().empty());
  EXPECT_EQ(machine.at("cores"), available_cores());
  EXPECT_GT(machine.at("memory_bytes").get<int64_t>(), int64_t{1} << 26);
  EXPECT_THAT(machine.at("kernel").get<std::string>(), ::testing::StartsWith("Linux "));
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(Environment, PeakMemoryFollowsUse) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  const int64_t before = peak_memory_bytes();
  EXPECT_GT(before, int64_t{1} << 20);
  const std::vector<char> block(static_cast<size_t>(before + kBytes), 1);
  // What was resident before, except for pages freed meanwhile, plus the whole block.
  EXPECT_GE(peak_memory_bytes(), before + kBytes + block.front() - 1);
}

TEST(Environment, ReadsVariables) {
  ::setenv("SADDLE_TEST_VARIABLE", "value", 1);
  EXPECT_EQ(environment_variable("SADDLE_TEST_VARIABLE"), "value");
  ::unsetenv("SADDLE_TEST_VARIABLE");
  EXPECT_EQ(environment_variable("SADDLE_TEST_VARIABLE"), "");
}

// A tree like /sys/fs/cgroup.
class Cgroup : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) {
    make_directories((directory_ / name).parent_path());
    write_file_atomically(directory_ / name, content);
  }
  std::optional<double> processors() {
    return cgroup_processors(directory_ / "membership", directory_ / "root");
  }
  std::optional<int64_t> memory() {
    return cgroup_memory_bytes(directory_ / "membership", directory_ / "root");
  }
  TemporaryDirectory directory_;
};

TEST_F(Cgroup, LimitsMemoryByTheTightestGroup) {
  EXPECT_EQ(memory(), std::nullopt);
  put("membership", "4:cpu:/job\n3:memory:/job\n0::/user\n");
  put("root/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory(), 9223372036854771712);
  put("root/memory/memory.limit_in_bytes", "5000\n");
  EXPECT_EQ(memory(), 5000);
  put("root/user/memory.max", "max\n");
  EXPECT_EQ(memory(), 5000);
  put("root/memory.max", "4000\n");
  EXPECT_EQ(memory(), 4000);
  EXPECT_LE(usable_memory_bytes(), machine_description()["memory_bytes"].get<int64_t>());
  EXPECT_GT(usable_memory_bytes(), 0);
}

TEST_F(Cgroup, WithoutFilesThereIsNoQuota) {
  EXPECT_EQ(processors(), std::nullopt);
  put("membership", "0::/\n");
  EXPECT_EQ(processors(), std::nullopt);
}

TEST_F(Cgroup, VersionTwoTakesTheTightestGroupAbove) {
  put("membership", "0::/user/job\n");
  put("root/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(processors(), std::nullopt);
  put("root/user/cpu.max", "250000 100000\n");
  EXPECT_EQ(processors(), 2.5);
  put("root/user/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(processors(), 1.5);
}

TEST_F(Cgroup, InAContainerTheTopCounts) {
  put("membership", "0::/not/visible/here\n");
  put("root/cpu.max", "400000 100000\n");
  EXPECT_EQ(processors(), 4.0);
}

TEST_F(Cgroup, VersionOneReadsItsOwnFiles) {
  put("membership", "5:cpuset:/x\n4:cpu,cpuacct:/job\n3:memory:/job\n0::/\n");
  put("root/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  put("root/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors(), std::nullopt);
  put("root/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(processors(), 0.5);
}

TEST_F(Cgroup, DamagedFilesCountAsNoQuota) {
  put("membership", "nonsense\n0::/\n");
  put("root/cpu.max", "few\n");
  EXPECT_EQ(processors(), std::nullopt);
}

}  // namespace
}  // namespace saddle
