// `saddle prepare` killed, starved of disk and run twice at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <filesystem>
#include <optional>

#include "base/exit_codes.h"
#include "data/cache.h"
#include "data/tokenizer.h"
#include "faults/fault_rounds.h"
#include "support/run_program.h"

namespace saddle::data {
namespace {

using ::testing::HasSubstr;

// Documents of random words, and a tokenizer of 300 pieces.
class PrepareFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    write_documents("c4-train.00000-of-00001.json", 3000);
    write_documents("c4-validation.00000-of-00001.json", 100);
    TokenizerTrainingOptions options;
    options.inputs = {source() / "c4-train.00000-of-00001.json"};
    options.model_file = directory_ / "tokenizer.model";
    options.vocab_size = 300;
    options.max_sentences = 500;
    Log log = Log::silent();
    train_tokenizer(options, &log);
  }

  Path source() const { return directory_ / "text"; }

  std::string arguments(const Path& cache) const {
    return "prepare --set data.source=" + source().string() +
           " --set data.tokenizer=" + (directory_ / "tokenizer.model").string() +
           " --set data.cache=" + cache.string() +
           " --set model.vocab_size=300 --set data.prepare_train_tokens=400000"
           " --set data.shard_tokens=50000 --set data.prepare_workers=2";
  }

  void write_documents(const std::string& name, int count) const {
    make_directories(source());
    const RandomStream random(1, RandomPurpose::kTest, name.size());
    std::string text;
    uint64_t next = 0;
    for (int i = 0; i < count; ++i) {
      text += "{\"text\":\"";
      for (int word = 0; word < 60; ++word) {
        for (uint64_t letters = 2 + random.below(next++, 6); letters > 0; --letters) {
          text += static_cast<char>('a' + random.below(next++, 26));
        }
        text += ' ';
      }
      text += "\",\"timestamp\":\"\",\"url\":\"\"}\n";
    }
    write_file_atomically(source() / name, text);
  }

  TemporaryDirectory directory_;
};

// Whether a process works, or worked when killed, in a private directory next to the cache.
bool is_being_made(const Path& cache) {
  const std::string prefix = "." + cache.filename().string() + ".building-";
  for (const auto& entry : std::filesystem::directory_iterator(cache.parent_path())) {
    if (entry.path().filename().string().starts_with(prefix)) return true;
  }
  return false;
}

// Checks that the name of the cache refers to nothing or to a cache that verifies.
void expect_nothing_half_written(const Path& cache) {
  if (std::filesystem::exists(cache)) TokenCache(cache).verify();
}

TEST_F(PrepareFaults, KilledAtRandomMoments) {
  const Stopwatch watch;
  const Path undisturbed = directory_ / "undisturbed";
  ASSERT_EQ(run_saddle(arguments(undisturbed)).exit_code, 0);
  RandomMoments moments(watch.seconds());

  const Path cache = directory_ / "cache";
  int killed_at_work = 0;
  const int most = 10 * fault_rounds();  // more rounds if none of the first hit one
  for (int round = 0; round < fault_rounds() || (killed_at_work == 0 && round < most); ++round) {
    StartedProgram program(arguments(cache));
    moments.sleep();
    program.kill(SIGKILL);
    if (program.wait() == -1 && is_being_made(cache)) ++killed_at_work;
    expect_nothing_half_written(cache);
    if (is_cache(cache)) std::filesystem::remove_all(cache);  // it finished earlier
  }
  EXPECT_GT(killed_at_work, 0);
  const ProgramResult last = run_saddle(arguments(cache));
  ASSERT_EQ(last.exit_code, 0) << last.errors;
  EXPECT_EQ(TokenCache(cache).identity(), TokenCache(undisturbed).identity());
  expect_nothing_half_written(cache);
  // The leftovers of killed processes were recognized and removed.
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_EQ(entry.path().filename().string().find(".building"), std::string::npos)
        << entry.path();
  }
}

TEST_F(PrepareFaults, SecondOneIntoTheSameDirectoryIsRefused) {
  const Path cache = directory_ / "cache";
  std::optional<StartedProgram> first;
  // On a busy machine the first may finish before it is stopped: then the test repeats it.
  for (int attempt = 0; attempt < 20 && !first; ++attempt) {
    std::filesystem::remove_all(cache);
    first.emplace(arguments(cache));
    while (!is_being_made(cache) && !is_cache(cache)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    first->kill(SIGSTOP);
    if (!is_being_made(cache)) first.reset();
  }
  ASSERT_TRUE(first.has_value());
  const ProgramResult second = run_saddle(arguments(cache));
  first->kill(SIGCONT);
  EXPECT_EQ(second.exit_code, exit_code(ErrorKind::kIo)) << second.errors;
  EXPECT_THAT(second.errors, HasSubstr("prepare into " + cache.string() + " is refused"));
  ASSERT_EQ(first->wait(), 0) << first->printed();
  TokenCache(cache).verify();
}

TEST_F(PrepareFaults, FullDisk) {
  const Path disk = directory_ / "disk";
  make_directories(disk);
  // In a separate mount namespace, so that nothing is left when the process ends.
  ChildProcess child([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", disk.c_str(), "tmpfs", 0, "size=400k") != 0) {
      return 77;
    }
    const ProgramResult full = run_saddle(arguments(disk / "cache"));
    if (full.exit_code != exit_code(ErrorKind::kIo)) return 1;
    if (full.errors.find("No space left") == std::string::npos) return 2;
    if (std::filesystem::exists(disk / "cache")) return 3;
    if (::mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=8m") != 0) return 77;
    if (run_saddle(arguments(disk / "cache")).exit_code != 0) return 4;
    TokenCache(disk / "cache").verify();
    return 0;
  });
  const int status = child.exit_status();
  if (status == 77) GTEST_SKIP() << "a small file system cannot be mounted here";
  EXPECT_EQ(status, 0) << "1: exit code, 2: message, 3: a cache was left, 4: the rerun failed";
}

}  // namespace
}  // namespace saddle::data
