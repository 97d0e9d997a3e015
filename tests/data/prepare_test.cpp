#include "data/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/sha256.h"
#include "data/fixtures.h"
#include "data/shuffle.h"
#include "support/child_process.h"
#include "support/directory_contents.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

using Ids = std::vector<uint16_t>;

Ids tokens_of(const Path& directory, Split split) {
  const TokenCache cache(directory);
  Ids ids(static_cast<size_t>(cache.tokens(split)));
  cache.read(split, 0, cache.tokens(split), ids.data());
  return ids;
}

class PrepareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    make_directories(source_);
    make_directories(home_);
    options_.source = {source_.string()};
    options_.tokenizer_model = make_tokenizer(temporary_.path());
    options_.directory = home_ / "cache";
    options_.vocab_size = kTinyVocabulary;
    options_.shard_tokens = 1000;
    options_.shuffle_buffer = 30;
    options_.workers = 2;
    write_bytes(source_ / "c4-train.0.json.gz", gzip(json_lines(some_documents(1, 150))));
    write_bytes(source_ / "c4-train.1.json", json_lines(some_documents(2, 100)));
    write_bytes(source_ / "c4-validation.0.json.gz", gzip(json_lines(validation_texts_)));
  }

  PrepareSummary run() { return prepare(options_, &log_); }

  void expect_refused(ErrorKind kind, const std::vector<std::string>& parts) {
    expect_error(kind, parts, [&] { run(); });
  }

  // Only the lock remains; there is no cache and no private directory.
  void expect_nothing_published() const {
    EXPECT_EQ(names_in(home_), std::vector<std::string>{".cache.lock"});
  }

  // The tokens of the texts in order, each followed by the end-of-sequence id.
  Ids encode_all(const std::vector<std::string>& texts) const {
    const Tokenizer tokenizer(options_.tokenizer_model);
    Ids ids;
    for (const std::string& text : texts) {
      tokenizer.encode(text, &ids);
      ids.push_back(2);
    }
    return ids;
  }

  TemporaryDirectory temporary_;
  Path source_ = temporary_ / "source";
  Path home_ = temporary_ / "home";
  std::vector<std::string> validation_texts_ = some_documents(3, 40);
  PrepareOptions options_;
  Log log_ = Log::silent();
};

TEST_F(PrepareTest, ValidationKeepsItsOrderAndTrainingIsShuffled) {
  const PrepareSummary summary = run();
  EXPECT_FALSE(summary.reused);
  EXPECT_GT(summary.seconds, 0.0);
  EXPECT_EQ(tokens_of(options_.directory, Split::kValidation), encode_all(validation_texts_));

  // The training documents as the shuffler alone orders them.
  DocumentShuffler shuffler(
      DocumentReader({source_ / "c4-train.0.json.gz", source_ / "c4-train.1.json"}), 30, 42);
  std::vector<std::string> texts;
  while (std::optional<DrawnDocument> document = shuffler.next()) texts.push_back(document->text);
  EXPECT_EQ(texts.size(), 250U);
  EXPECT_EQ(tokens_of(options_.directory, Split::kTrain), encode_all(texts));

  EXPECT_EQ(summary.manifest.train.documents, 250);
  EXPECT_EQ(summary.manifest.validation.documents, 40);
  EXPECT_TRUE(summary.manifest.train.complete);
  EXPECT_TRUE(summary.manifest.validation.complete);
  EXPECT_EQ(summary.manifest.train.sources.size(), 2U);
  EXPECT_EQ(summary.manifest.train.sources[1].sha256, sha256_file(source_ / "c4-train.1.json"));
  EXPECT_EQ(summary.manifest.eos_id, 2);
  EXPECT_GT(summary.manifest.train.shards.size(), 3U);
  EXPECT_EQ(summary.identity, TokenCache(options_.directory).identity());
  TokenCache(options_.directory).verify();
  EXPECT_EQ(names_in(home_), (std::vector<std::string>{".cache.lock", "cache"}));
}

TEST_F(PrepareTest, TheNumberOfWorkersChangesNoByte) {
  for (const bool cut : {false, true}) {
    if (cut) options_.train_tokens = 3333;
    options_.workers = 1;
    options_.directory = home_ / fmt::format("one-{}", cut);
    run();
    const auto expected = contents_of(options_.directory);
    for (const int64_t workers : {0, 2, 3, 11}) {
      options_.workers = workers;
      options_.directory = home_ / fmt::format("workers-{}-{}", workers, cut);
      run();
      EXPECT_EQ(contents_of(options_.directory), expected) << workers << " workers";
    }
  }
}

TEST_F(PrepareTest, CutsAtExactlyTheRequestedTokens) {
  run();
  const Ids all = tokens_of(options_.directory, Split::kTrain);
  const auto total = static_cast<int64_t>(all.size());
  for (const int64_t tokens :
       {int64_t{1}, int64_t{999}, int64_t{1000}, int64_t{1001}, total - 1, total}) {
    options_.train_tokens = tokens;
    options_.directory = home_ / std::to_string(tokens);
    const PrepareSummary summary = run();
    EXPECT_EQ(summary.manifest.train.tokens, tokens);
    EXPECT_EQ(summary.manifest.train.complete, tokens == total);
    EXPECT_EQ(tokens_of(options_.directory, Split::kTrain), Ids(all.begin(), all.begin() + tokens));
  }
}

TEST_F(PrepareTest, TruncatesValidationAndReportsIt) {
  const Ids all = encode_all(validation_texts_);
  const auto total = static_cast<int64_t>(all.size());
  for (const int64_t tokens : {int64_t{1}, int64_t{500}, total - 1, total, total + 1}) {
    options_.validation_tokens = tokens;
    options_.directory = home_ / std::to_string(tokens);
    const PrepareSummary summary = run();
    EXPECT_EQ(summary.manifest.validation.tokens, std::min(tokens, total));
    EXPECT_EQ(TokenCache(options_.directory).validation_complete(), tokens >= total);
    EXPECT_TRUE(run().reused);
  }
}

TEST_F(PrepareTest, TooFewTokensIsAnErrorThatGivesTheirNumber) {
  run();
  const int64_t total = TokenCache(options_.directory).tokens(Split::kTrain);
  std::filesystem::remove_all(options_.directory);
  options_.train_tokens = total + 1;
  expect_refused(ErrorKind::kData,
                 {source_.string(), fmt::format("give {} tokens, but {}", total, total + 1),
                  fmt::format("training.max_tokens to at most {}", total - 1)});
  expect_nothing_published();
}

TEST_F(PrepareTest, EscapedDocumentsGiveTheSameTokens) {
  run();
  std::vector<std::string> texts = some_documents(1, 150);
  texts.push_back("\xF0\x9F\x98\x80 a/b \xE2\x80\x94 caf\xC3\xA9");
  write_bytes(source_ / "c4-train.0.json.gz", gzip(json_lines(texts)));
  std::string escaped;
  for (const std::string& text : texts) {
    // The library can write every other character as an escape; the slash is replaced by hand.
    std::string line = Json({{"timestamp", "other"}, {"text", text}}).dump(-1, ' ', true);
    for (size_t i = 0; (i = line.find('/', i)) != std::string::npos; i += 2)
      line.insert(i, 1, '\\');
    escaped += line + "\n";
  }
  EXPECT_EQ(std::count_if(escaped.begin(), escaped.end(), [](char c) { return (c & 0x80) != 0; }),
            0);
  options_.directory = home_ / "plain";
  const PrepareSummary plain = run();
  write_bytes(source_ / "c4-train.0.json.gz", gzip(escaped));
  options_.directory = home_ / "escaped";
  const PrepareSummary other = run();
  EXPECT_EQ(plain.manifest.train.shards, other.manifest.train.shards);
  EXPECT_NE(plain.manifest.train.sources, other.manifest.train.sources);
}

TEST_F(PrepareTest, SkippedDocumentsAreCountedAndReported) {
  write_bytes(source_ / "c4-train.1.json",
              "{\"text\":\"\"}\n" + json_lines(some_documents(2, 3)) + "{}\n{\"text\":null}\n");
  write_bytes(source_ / "notes.json", "no documents");
  log_.add_file(temporary_ / "log");
  const PrepareSummary summary = run();
  EXPECT_EQ(summary.manifest.train.documents, 153);
  EXPECT_EQ(summary.manifest.train.skipped,
            (std::map<std::string, int64_t>{{"empty text", 1}, {"no text", 2}}));
  const std::string log = read_bytes(temporary_ / "log");
  const std::string file = (source_ / "c4-train.1.json").string();
  for (const std::string& part :
       {"train: 1 documents were left out: empty text, the first of them " + file + " line 1\n",
        "train: 2 documents were left out: no text, the first of them " + file + " line 5\n",
        std::string("notes.json is left out")}) {
    EXPECT_THAT(log, ::testing::HasSubstr(part));
  }
}

TEST_F(PrepareTest, BadLinesCountOnlyWhenTheyAreNeeded) {
  write_bytes(source_ / "c4-train.1.json", json_lines(some_documents(2, 40)) + "oops\n");
  expect_refused(ErrorKind::kData, {"c4-train.1.json line 41", "not valid JSON"});
  expect_nothing_published();
  options_.train_tokens = 1000;
  for (const int64_t workers : {1, 2, 16}) {
    options_.workers = workers;
    options_.directory = home_ / std::to_string(workers);
    EXPECT_EQ(run().manifest.train.tokens, 1000);
  }
}

TEST_F(PrepareTest, DamagedSourcesAreNamed) {
  const std::string whole = read_bytes(source_ / "c4-train.0.json.gz");
  write_bytes(source_ / "c4-train.0.json.gz", whole.substr(0, whole.size() - 10));
  expect_refused(ErrorKind::kData, {"c4-train.0.json.gz", "ends early"});
  write_bytes(source_ / "c4-train.0.json.gz", whole);
  write_bytes(source_ / "c4-validation.0.json.gz", gzip("{}\n"));
  expect_refused(ErrorKind::kData, {"validation files contain no document with text"});
  std::filesystem::remove(source_ / "c4-validation.0.json.gz");
  expect_refused(ErrorKind::kData, {source_.string(), "no validation files"});
  expect_nothing_published();
}

// The splits determine the contents of a cache; how its files were named does not.
TEST_F(PrepareTest, FilesGivenOneByOneMakeTheCacheOfTheirFolder) {
  const std::string identity = run().identity;
  options_.source = {(source_ / "c4-train.1.json").string(),
                     (source_ / "c4-train.0.json.gz").string()};
  options_.validation_source = {(source_ / "c4-validation.0.json.gz").string()};
  EXPECT_TRUE(run().reused);
  options_.directory = home_ / "again";
  EXPECT_EQ(run().identity, identity);
}

TEST_F(PrepareTest, OneFileForEachSplitWhateverItsName) {
  write_bytes(temporary_ / "corpus[1].jsonl", json_lines(some_documents(5, 20)) + "\n");
  write_bytes(temporary_ / "held-out.jsonl", json_lines(validation_texts_));
  options_.source = {(temporary_ / "corpus[1].jsonl").string()};
  expect_refused(ErrorKind::kData, {"corpus[1].jsonl", "data.validation_source"});
  options_.validation_source = {(temporary_ / "held-out.jsonl").string()};
  options_.shuffle_buffer = 1;
  const CacheManifest manifest = run().manifest;
  EXPECT_EQ(tokens_of(options_.directory, Split::kTrain), encode_all(some_documents(5, 20)));
  EXPECT_EQ(tokens_of(options_.directory, Split::kValidation), encode_all(validation_texts_));
  EXPECT_EQ(manifest.train.sources.at(0).name, "corpus[1].jsonl");
  EXPECT_TRUE(manifest.train.skipped.empty()) << "a blank line is not a document";
  EXPECT_TRUE(run().reused);
  std::swap(options_.source, options_.validation_source);
  expect_refused(ErrorKind::kConfig, {"is not the one it was made from", "choose a new directory"});
}

TEST_F(PrepareTest, BadRequestsAreRefused) {
  options_.vocab_size = 32'000;
  expect_refused(ErrorKind::kConfig, {"tiny.model", "330", "32000"});
  options_.vocab_size = kTinyVocabulary;
  options_.train_tokens = 0;
  expect_refused(ErrorKind::kConfig, {"training", "found 0"});
  options_.train_tokens.reset();
  options_.workers = -1;
  expect_refused(ErrorKind::kConfig, {"workers"});
  options_.workers = 1;
  options_.shard_tokens = 0;
  expect_refused(ErrorKind::kConfig, {"shard"});
  options_.shard_tokens = 1000;
  options_.directory = "";
  expect_refused(ErrorKind::kConfig, {"directory"});
  options_.directory = source_ / "c4-train.1.json" / "cache";  // a file is in the way
  expect_refused(ErrorKind::kIo, {"c4-train.1.json"});
}

TEST_F(PrepareTest, DirectoriesInUseAreLeftAlone) {
  make_directories(options_.directory);
  EXPECT_FALSE(run().reused);  // an empty directory is accepted
  options_.directory = home_ / "other";
  make_directories(options_.directory);
  write_bytes(options_.directory / "thesis.txt", "important");
  expect_refused(ErrorKind::kData, {"other", "not a token cache", "choose a new directory"});
  EXPECT_EQ(read_bytes(options_.directory / "thesis.txt"), "important");
  options_.directory = home_ / "file";
  write_bytes(options_.directory, "important");
  expect_refused(ErrorKind::kData, {"file", "not a token cache"});
}

TEST_F(PrepareTest, ALinkIsFollowedToItsDirectory) {
  const Path target = temporary_ / "elsewhere" / "roomy";
  make_directories(target);
  std::filesystem::create_directory_symlink(target, options_.directory);
  EXPECT_FALSE(run().reused);
  EXPECT_TRUE(std::filesystem::is_symlink(options_.directory));
  TokenCache(target).verify();
  EXPECT_EQ(names_in(target.parent_path()), (std::vector<std::string>{".roomy.lock", "roomy"}));
  EXPECT_EQ(names_in(home_), std::vector<std::string>{"cache"});
  EXPECT_TRUE(run().reused);
  // One that leads nowhere is left alone.
  options_.directory = home_ / "dangling";
  std::filesystem::create_directory_symlink(temporary_ / "none", options_.directory);
  expect_refused(ErrorKind::kData, {"dangling", "not a token cache"});
  EXPECT_TRUE(std::filesystem::is_symlink(options_.directory));
}

TEST_F(PrepareTest, AMountPointIsRefusedBeforeTheWork) {
  make_directories(options_.directory);
  make_directories(home_ / "bound");
  ChildProcess child([&] {
    // In a mount namespace of its own, so that nothing is left when the process ends.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", options_.directory.c_str(), "tmpfs", 0, "size=64k") != 0 ||
        ::mount((home_ / "bound").c_str(), (home_ / "bound").c_str(), nullptr, MS_BIND, nullptr)) {
      return 77;
    }
    for (const char* name : {"cache", "bound"}) {
      options_.directory = home_ / name;
      expect_refused(ErrorKind::kConfig, {name, "a file system is mounted there"});
    }
    return HasFailure() ? 1 : 0;
  });
  const int status = child.exit_status();
  if (status == 77) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(options_.directory));
}

TEST_F(PrepareTest, AFinishedCacheIsVerifiedAndReused) {
  run();
  const auto before = contents_of(options_.directory);
  options_.directory += "/";
  const PrepareSummary again = run();
  EXPECT_TRUE(again.reused);
  EXPECT_GT(again.seconds, 0.0);
  EXPECT_EQ(again.identity, TokenCache(options_.directory).identity());
  options_.train_tokens = 100;  // its first 100 are those that would be made
  options_.workers = 7;
  EXPECT_TRUE(run().reused);
  EXPECT_EQ(contents_of(options_.directory), before);

  std::string bytes = before.at("train-00001.bin");
  bytes[11] ^= 1;
  write_bytes(options_.directory / "train-00001.bin", bytes);
  expect_refused(ErrorKind::kData, {"train-00001.bin", "checksum"});
}

TEST_F(PrepareTest, ASourceMayHaveANameThatIsNotUtf8) {
  write_bytes(source_ / "c4-train.2.\xFF.json", json_lines(some_documents(4, 10)));
  const PrepareSummary summary = run();
  EXPECT_EQ(summary.manifest.train.sources[2].name, "c4-train.2.\xEF\xBF\xBD.json");
  EXPECT_TRUE(run().reused);
}

TEST_F(PrepareTest, AnotherRequestIsRefusedAndTheFieldsAreNamed) {
  options_.train_tokens = 2000;
  run();
  const PrepareOptions made = options_;
  const auto expect_difference = [&](const std::vector<std::string>& parts) {
    std::vector<std::string> all = parts;
    all.insert(all.end(), {made.directory.string(), "choose a new directory"});
    expect_refused(ErrorKind::kConfig, all);
    options_ = made;
  };
  options_.train_tokens = 2001;
  expect_difference({"2000 training tokens, but 2001 are needed"});
  options_.train_tokens.reset();
  expect_difference({"cut at 2000 training tokens, but all"});
  options_.validation_tokens = 100;
  expect_difference({"validation tokens, but 100 are requested"});
  options_.shuffle_seed = 43;
  options_.shuffle_buffer = 31;
  expect_difference({"data.shuffle_seed is 42, but 43 was requested",
                     "data.shuffle_buffer is 30, but 31 was requested"});
  options_.shard_tokens = 999;
  expect_difference({"data.shard_tokens is 1000"});
  options_.dataset = "c4";
  expect_difference({"dataset is , but c4 was requested"});
  write_bytes(source_ / "c4-train.0.json.gz", gzip(json_lines(some_documents(9, 150))));
  expect_difference({"c4-train.0.json.gz is not the one"});
  write_bytes(source_ / "c4-train.0.json.gz", gzip(json_lines(some_documents(1, 150))));
  EXPECT_TRUE(run().reused);
  write_bytes(source_ / "c4-validation.1.json", json_lines(some_documents(4, 1)));
  expect_difference({"made from 1 validation files, but there are 2 now"});
}

TEST_F(PrepareTest, MoreFilesAfterACutAreNotADifference) {
  options_.train_tokens = 500;  // well within the first file, however far the buffer reads ahead
  EXPECT_EQ(run().manifest.train.sources.size(), 1U);
  write_bytes(source_ / "c4-train.1.json", json_lines(some_documents(8, 5)));
  write_bytes(source_ / "c4-train.2.json", json_lines(some_documents(9, 5)));
  EXPECT_TRUE(run().reused);
}

TEST_F(PrepareTest, ASecondWriterIsRefused) {
  const FileLock lock(home_ / ".cache.lock", "the test");
  expect_refused(ErrorKind::kIo, {"prepare into", (home_ / "cache").string(), ".cache.lock"});
  EXPECT_EQ(names_in(home_), std::vector<std::string>{".cache.lock"});
}

TEST_F(PrepareTest, LeftoversOfKilledWritersAreRemovedAndNothingElse) {
  make_directories(home_ / ".cache.building-4194305");
  write_bytes(home_ / ".cache.building-4194305" / "train-00000.bin", "half");
  make_directories(home_ / ".other.building-4194305");
  make_directories(home_ / ".cache.building-notes");
  write_bytes(home_ / ".cache.building-7", "a file");
  run();
  EXPECT_EQ(names_in(home_),
            (std::vector<std::string>{".cache.building-7", ".cache.building-notes", ".cache.lock",
                                      ".other.building-4194305", "cache"}));
}

TEST_F(PrepareTest, AnythingNamedLikeThePrivateDirectoryIsLeftAlone) {
  const auto name = [](int further) {
    return fmt::format(".cache.building-{}", ::getpid() + further);
  };
  const Path elsewhere = temporary_ / "elsewhere";
  make_directories(elsewhere);
  write_bytes(elsewhere / "thesis.txt", "important");
  write_bytes(home_ / name(0), "a file");
  std::filesystem::create_directory_symlink(elsewhere, home_ / name(1));
  EXPECT_FALSE(run().reused);
  EXPECT_EQ(names_in(elsewhere), std::vector<std::string>{"thesis.txt"});
  EXPECT_EQ(read_bytes(home_ / name(0)), "a file");
  EXPECT_TRUE(std::filesystem::is_symlink(home_ / name(1)));
  EXPECT_FALSE(std::filesystem::exists(home_ / name(2)));
}

TEST_F(PrepareTest, AFullDiskLeavesNothing) {
  ChildProcess child([&] {
    // The kernel refuses to let a file grow, as a full disk would.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1500, 1500};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    try {
      run();
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kIo ? 0 : 3;
    }
    return 4;
  });
  EXPECT_EQ(child.exit_status(), 0);
  expect_nothing_published();
}

TEST_F(PrepareTest, AKilledRunLeavesNothingThatLooksComplete) {
  write_bytes(source_ / "c4-train.1.json", json_lines(some_documents(2, 20'000)));
  int killed_at_work = 0;
  for (const int milliseconds : {0, 3, 20}) {
    ChildProcess child([&] {
      run();
      return 0;
    });
    const Path building = home_ / fmt::format(".cache.building-{}", child.id());
    while (!std::filesystem::exists(building) && !is_cache(options_.directory)) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    child.kill(SIGKILL);
    child.wait();
    if (std::filesystem::exists(options_.directory)) {
      TokenCache(options_.directory).verify();  // it was faster than the signal
      std::filesystem::remove_all(options_.directory);
    } else {
      ++killed_at_work;
      EXPECT_TRUE(std::filesystem::exists(building));
    }
  }
  EXPECT_GT(killed_at_work, 0);
  EXPECT_FALSE(run().reused);
  TokenCache(options_.directory).verify();
  EXPECT_EQ(names_in(home_), (std::vector<std::string>{".cache.lock", "cache"}));
}

TEST_F(PrepareTest, RealDocumentsPlainAndEscaped) {
  const Path reference(SADDLE_REFERENCE_DIR);
  const Path data = reference / "data";
  if (reference.empty() || !std::filesystem::exists(data / "c4" / "sample_1000_escaped.jsonl.gz")) {
    GTEST_SKIP() << "the reference documents are not here: set SADDLE_REFERENCE_DIR";
  }
  const Path plain = data / "c4" / "en" / "c4-train.00000-of-00002.json.gz";
  const Path escaped = data / "c4" / "sample_1000_escaped.jsonl.gz";
  ASSERT_NE(sha256_file(plain), sha256_file(escaped));
  options_.tokenizer_model = data / "tokenizer" / "tokenizer.model";
  options_.vocab_size = 32'000;
  std::filesystem::remove(source_ / "c4-train.1.json");
  const auto prepared_from = [&](const Path& file) {
    std::filesystem::copy_file(file, source_ / "c4-train.0.json.gz",
                               std::filesystem::copy_options::overwrite_existing);
    options_.directory = home_ / file.filename();
    return run().manifest.train;
  };
  const SplitRecord one = prepared_from(plain);
  const SplitRecord two = prepared_from(escaped);
  EXPECT_EQ(one.documents, 1000);
  EXPECT_GT(one.shards.size(), 1U);
  EXPECT_EQ(one.shards, two.shards);
}

}  // namespace
}  // namespace saddle::data
