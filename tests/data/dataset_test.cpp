#include "data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/sha256.h"
#include "data/fixtures.h"
#include "data/prepare.h"
#include "support/child_process.h"
#include "support/directory_contents.h"
#include "support/expect_error.h"
#include "support/http_server.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

const PublishedDataset kC4 = find_dataset("c4");

TEST(Datasets, FilesHaveTheirPublishedNames) {
  EXPECT_EQ(file_name(kC4, Split::kTrain, 0), "c4-train.00000-of-01024.json.gz");
  EXPECT_EQ(file_name(kC4, Split::kTrain, 1023), "c4-train.01023-of-01024.json.gz");
  EXPECT_EQ(file_name(kC4, Split::kValidation, 7), "c4-validation.00007-of-00008.json.gz");
}

TEST(Datasets, InvalidNamesRevisionsAndUrlsAreRefused) {
  Log log = Log::silent();
  expect_error(ErrorKind::kConfig, {"data.dataset is \"c5\"", "c4"}, [] { find_dataset("c5"); });
  const auto make = [&](const std::string& revision, const std::string& base_url) {
    DatasetFiles(kC4, revision, Split::kTrain, {.base_url = base_url, .directory = "x"}, &log);
  };
  for (const std::string revision : {"", "..", ".x", "a/b", "a b", "caf\xC3\xA9"}) {
    expect_error(ErrorKind::kConfig, {"data.revision", "\"" + revision + "\""},
                 [&] { make(revision, "https://example.org"); });
  }
  for (const std::string base_url : {"", "example.org", "ftp://example.org", "file:///tmp"}) {
    expect_error(ErrorKind::kConfig, {"data.base_url", "\"" + base_url + "\""},
                 [&] { make("main", base_url); });
  }
  for (const std::string base_url : {"me:secret@example.org", "//me:se@cret@example.org"}) {
    expect_error(ErrorKind::kConfig, {"found \"***@example.org\""},
                 [&] { make("main", base_url); });
  }
  make("0123456789abcdef0123456789abcdef01234567", "https://example.org/mirror/");
}

// A server that publishes C4 with all validation files and three training files, which lie in a
// local folder as well.
class DatasetTest : public ::testing::Test {
 protected:
  DatasetTest() {
    ::setenv("no_proxy", "127.0.0.1", 1);  // the server is local: use no proxy
    make_directories(local_);
    for (int64_t i = 0; i < kC4.validation_files; ++i) publish(Split::kValidation, i, 6);
    for (int64_t i = 0; i < 3; ++i) publish(Split::kTrain, i, i == 0 ? 150 : 1500);
    options_.dataset = "c4";
    options_.revision = "main";
    options_.published.base_url = server_.url("");
    options_.published.directory = directory_ / "downloads";
    options_.published.download.first_delay_s = 0.005;
    options_.tokenizer_model = make_tokenizer(directory_.path());
    options_.directory = directory_ / "home" / "cache";
    options_.vocab_size = kTinyVocabulary;
    options_.shuffle_buffer = 30;
    options_.workers = 2;
    options_.train_tokens = 20'000;  // of about 500 documents
  }

  void publish(Split split, int64_t index, int64_t documents) {
    const uint64_t seed = (split == Split::kTrain ? 10 : 100) + static_cast<uint64_t>(index);
    const std::string content = gzip(json_lines(some_documents(seed, documents)));
    write_bytes(local_ / file_name(kC4, split, index), content);
    server_.add_file(path(split, index), content);
  }
  static std::string path(Split split, int64_t index, const std::string& revision = "main") {
    return "/datasets/allenai/c4/resolve/" + revision + "/en/" + file_name(kC4, split, index);
  }
  Path downloaded(Split split, int64_t index) const {
    return directory_ / "downloads" / "c4" / "main" / file_name(kC4, split, index);
  }
  std::vector<HttpSeen> gets(Split split, int64_t index) const {
    return server_.seen("GET", path(split, index));
  }
  PrepareSummary run() { return prepare(options_, &log_); }
  PrepareSummary run_local() {
    PrepareOptions options = options_;
    options.source = {local_.string()};
    options.directory = directory_ / "home" / "local";
    return prepare(options, &log_);
  }
  void expect_nothing_published() const {
    EXPECT_FALSE(std::filesystem::exists(options_.directory));
  }

  TemporaryDirectory directory_;
  Path local_ = directory_ / "local";
  HttpServer server_;
  PrepareOptions options_;
  Log log_ = Log::silent();
};

TEST_F(DatasetTest, GivesTheCacheThatLocalFilesGive) {
  server_.script("GET", path(Split::kTrain, 0), {{.cut_after = 1000}, {.status = 503}});
  server_.script("GET", path(Split::kValidation, 3), {{.status = 429}});
  const PrepareSummary here = run_local();
  const PrepareSummary there = run();
  EXPECT_EQ(there.identity, here.identity);
  EXPECT_EQ(contents_of(options_.directory), contents_of(directory_ / "home" / "local"));
  EXPECT_EQ(there.manifest.dataset, "c4");
  EXPECT_EQ(there.manifest.revision, "main");
  ASSERT_EQ(there.manifest.train.sources.size(), 2U);
  EXPECT_EQ(there.manifest.train.sources[1].name, "c4-train.00001-of-01024.json.gz");
  EXPECT_EQ(there.manifest.train.sources[1].sha256,
            sha256_file(local_ / "c4-train.00001-of-01024.json.gz"));
  EXPECT_EQ(there.manifest.validation.sources.size(), 8U);
  EXPECT_TRUE(there.manifest.validation.complete);
  EXPECT_EQ(gets(Split::kTrain, 0).at(2).range, "bytes=1000-");
  // The third was not needed: the threads read 600 documents ahead at most.
  EXPECT_TRUE(gets(Split::kTrain, 2).empty());
  EXPECT_EQ(read_bytes(downloaded(Split::kTrain, 1)),
            read_bytes(local_ / "c4-train.00001-of-01024.json.gz"));
}

TEST_F(DatasetTest, ExistingFilesAreNotDownloadedAgain) {
  run();
  const size_t before = server_.seen("HEAD", path(Split::kTrain, 0)).size();
  EXPECT_EQ(before, 1U);
  std::filesystem::remove_all(options_.directory);
  EXPECT_FALSE(run().reused);
  EXPECT_EQ(server_.seen("HEAD", path(Split::kTrain, 0)).size(), before);
  EXPECT_EQ(gets(Split::kTrain, 0).size(), 1U);
  // A finished cache needs neither the server nor the files.
  std::filesystem::remove_all(directory_ / "downloads");
  EXPECT_TRUE(run().reused);
  EXPECT_EQ(gets(Split::kTrain, 0).size(), 1U);

  options_.revision = "v2";
  expect_error(ErrorKind::kConfig,
               {"revision is main, but v2 was requested", "choose a new directory"},
               [&] { run(); });
}

TEST_F(DatasetTest, AShortValidationFetchesOnlyTheFilesItNeeds) {
  publish(Split::kValidation, 0, 1500);
  options_.validation_tokens = 100;
  EXPECT_FALSE(run().manifest.validation.complete);
  EXPECT_TRUE(gets(Split::kValidation, 1).empty());
}

TEST_F(DatasetTest, TheHashThatTheServerStatesIsChecked) {
  const std::string name = path(Split::kValidation, 2);
  const std::string content = read_bytes(local_ / file_name(kC4, Split::kValidation, 2));
  // As the host of C4 does: the redirect to the storage says what the file must be.
  const HttpBehaviour described{.status = 302,
                                .headers =
                                    "Location: http://127.0.0.1:1/storage\r\n"
                                    "X-Linked-Size: " +
                                    std::to_string(content.size()) + "\r\nX-Linked-ETag: \"" +
                                    sha256_hex(content) + "\"\r\n"};
  std::string damaged = content;
  damaged[content.size() / 2] ^= 1;
  server_.script("HEAD", name, {described, described});
  server_.script("GET", name, std::vector<HttpBehaviour>(3, HttpBehaviour{.body = damaged}));
  expect_error(ErrorKind::kData, {server_.url(name), "SHA-256"}, [&] { run(); });
  expect_nothing_published();
  EXPECT_FALSE(std::filesystem::exists(downloaded(Split::kValidation, 2)));
  run();
  EXPECT_EQ(read_bytes(downloaded(Split::kValidation, 2)), content);
}

// A network that requires a login answers every request with its login page.
TEST_F(DatasetTest, AnHtmlPageIsRefused) {
  const std::string name = path(Split::kValidation, 2);
  const HttpBehaviour page{.body = "<!DOCTYPE html><html>Please log in</html>"};
  server_.script("HEAD", name, {page});
  server_.script("GET", name, std::vector<HttpBehaviour>(3, page));
  expect_error(ErrorKind::kData,
               {server_.url(name), "expected gzip data, found \"<!DOCTYPE html>", "login page"},
               [&] { run(); });
  expect_nothing_published();
  EXPECT_FALSE(std::filesystem::exists(downloaded(Split::kValidation, 2)));
  run();
}

TEST_F(DatasetTest, AFileThatIsNotGzipIsDownloadedAgain) {
  const std::string content = read_bytes(local_ / file_name(kC4, Split::kValidation, 2));
  make_directories(downloaded(Split::kValidation, 2).parent_path());
  for (const std::string& wrong : {std::string("<html>log in</html>"), std::string()}) {
    write_bytes(downloaded(Split::kValidation, 2), wrong);
    const size_t before = gets(Split::kValidation, 2).size();
    std::filesystem::remove_all(options_.directory);
    run();
    EXPECT_EQ(gets(Split::kValidation, 2).size(), before + 1);
    EXPECT_EQ(read_bytes(downloaded(Split::kValidation, 2)), content);
  }
}

TEST_F(DatasetTest, ALoginOfTheServerIsNotStored) {
  std::string url = server_.url("");
  options_.published.base_url = url.insert(url.find("//") + 2, "me:secret@");
  server_.script("GET", path(Split::kTrain, 0), {{.cut_after = 1000}});
  run();
  EXPECT_EQ(gets(Split::kTrain, 0).at(1).range, "bytes=1000-");
  EXPECT_EQ(read_file(options_.directory / "manifest.json").find("secret"), std::string::npos);
}

TEST_F(DatasetTest, AMissingFileIsNamed) {
  options_.revision = "no-such-revision";
  expect_error(ErrorKind::kIo,
               {server_.url(path(Split::kValidation, 0, options_.revision)), "404 (not found)"},
               [&] { run(); });
  expect_nothing_published();
  // The fourth training file is not published; without a limit it is requested.
  options_.revision = "main";
  options_.train_tokens.reset();
  expect_error(ErrorKind::kIo, {server_.url(path(Split::kTrain, 3)), "404"}, [&] { run(); });
  expect_nothing_published();
}

TEST_F(DatasetTest, AKilledPreparationContinuesWhereItStopped) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer ends a forked process that starts threads";
#endif
  server_.script("GET", path(Split::kTrain, 1), {{.bytes_for_each_ms = 50}});
  ChildProcess child([&] {
    run();
    return 0;
  });
  const Path part = downloaded(Split::kTrain, 1).parent_path() /
                    fmt::format(".{}.part", file_name(kC4, Split::kTrain, 1));
  const Stopwatch watch;
  while (!std::filesystem::exists(part) || std::filesystem::file_size(part) < 2000) {
    ASSERT_LT(watch.seconds(), 60.0) << "nothing was downloaded";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  child.kill(SIGKILL);
  child.wait();
  expect_nothing_published();
  const uint64_t there = std::filesystem::file_size(part);
  const PrepareSummary summary = run();
  EXPECT_EQ(gets(Split::kTrain, 1).at(1).range, fmt::format("bytes={}-", there));
  EXPECT_EQ(gets(Split::kTrain, 0).size(), 1U);
  EXPECT_EQ(summary.identity, run_local().identity);
}

TEST_F(DatasetTest, AnUnneededDownloadIsCancelled) {
  publish(Split::kTrain, 1, 300);  // the threads read on into the next file
  server_.script("GET", path(Split::kTrain, 2), {{.silent = true}});
  options_.train_tokens = 12'000;
  options_.published.download.http.stall_timeout_s = 600;
  const Stopwatch watch;
  EXPECT_EQ(run().manifest.train.tokens, 12'000);
  EXPECT_LT(watch.seconds(), 60.0);
  EXPECT_EQ(run_local().identity, TokenCache(options_.directory).identity());
}

}  // namespace
}  // namespace saddle::data
