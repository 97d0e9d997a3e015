#include "data/download.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/sha256.h"
#include "data/fixtures.h"
#include "support/child_process.h"
#include "support/expect_error.h"
#include "support/http_server.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

constexpr const char* kPath = "/files/one.bin";

// Bytes that differ from place to place.
std::string some_bytes(uint64_t seed, int64_t count) {
  const RandomStream random(seed, RandomPurpose::kTest);
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>(random.bits(static_cast<uint64_t>(i))));
  }
  return bytes;
}

class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest() {
    ::setenv("no_proxy", "127.0.0.1", 1);  // the server is local: use no proxy
    options_.first_delay_s = 0.005;
    options_.max_delay_s = 0.02;
    options_.http.stall_timeout_s = 1;
    server_.add_file(kPath, content_);
    request_.url = server_.url(kPath);
    request_.destination = directory_ / "home" / "one.bin";
  }

  void script(const std::vector<HttpBehaviour>& behaviours) {
    server_.script("GET", kPath, behaviours);
  }
  DownloadResult run() { return download_file(request_, options_, &log_); }
  std::vector<HttpSeen> gets() const { return server_.seen("GET", kPath); }
  std::vector<std::string> ranges() const {
    std::vector<std::string> found;
    for (const HttpSeen& request : gets()) found.push_back(request.range);
    return found;
  }
  void expect_complete() const {
    EXPECT_TRUE(read_bytes(request_.destination) == content_);
    EXPECT_EQ(names(), (std::vector<std::string>{".one.bin.lock", "one.bin"}));
  }
  void expect_nothing_published() const {
    EXPECT_FALSE(std::filesystem::exists(request_.destination));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "home")) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  Path part() const { return directory_ / "home" / ".one.bin.part"; }
  int64_t size() const { return static_cast<int64_t>(content_.size()); }

  TemporaryDirectory directory_;
  std::string content_ = some_bytes(1, 300'000);
  HttpServer server_;
  DownloadRequest request_;
  DownloadOptions options_;
  Log log_ = Log::silent();
};

TEST_F(DownloadTest, DownloadsAFileOnce) {
  request_.bytes = size();
  request_.sha256 = sha256_hex(content_);
  const DownloadResult result = run();
  EXPECT_FALSE(result.present);
  EXPECT_EQ(result.bytes, size());
  EXPECT_EQ(result.received, size());
  EXPECT_EQ(result.requests, 1);
  expect_complete();
  EXPECT_TRUE(run().present);
  EXPECT_EQ(gets().size(), 1U);
}

TEST_F(DownloadTest, AnEmptyFileIsAFile) {
  server_.add_file(kPath, "");
  EXPECT_EQ(run().bytes, 0);
  EXPECT_EQ(read_bytes(request_.destination), "");
}

TEST_F(DownloadTest, AnExistingWrongFileIsReplaced) {
  make_directories(request_.destination.parent_path());
  write_bytes(request_.destination, "something else");
  request_.bytes = size();
  EXPECT_FALSE(run().present);
  expect_complete();
}

TEST_F(DownloadTest, GzipDataMustBeCompleteIfNoHashIsKnown) {
  content_ = gzip(some_text(1, 20'000));
  server_.add_file(kPath, content_);
  request_.gzip = true;
  const HttpBehaviour half{.body = content_.substr(0, content_.size() / 2)};
  script({half, {.body = "not found, sorry"}});
  run();  // the third answer is right
  expect_complete();
  std::filesystem::remove(request_.destination);
  script({half, half, half});
  expect_error(ErrorKind::kData, {request_.url, "the gzip data ends early"}, [&] { run(); });
  expect_nothing_published();
}

TEST_F(DownloadTest, TheRecordOfAPartContainsNoLogin) {
  request_.url.insert(request_.url.find("//") + 2, "me:secret@");
  options_.retries = 0;
  script({{.cut_after = 100'000}});
  EXPECT_THROW(run(), Error);
  const std::string record = read_file(directory_ / "home" / ".one.bin.part.json");
  EXPECT_EQ(record.find("secret"), std::string::npos) << record;
  EXPECT_EQ(run().received, size() - 100'000);
}

TEST_F(DownloadTest, ResumesWhereAConnectionBroke) {
  script({{.cut_after = 100'000}, {.cut_after = 0}, {.cut_after = 50'000}});
  const DownloadResult result = run();
  expect_complete();
  EXPECT_EQ(result.received, size()) << "no byte was sent twice";
  EXPECT_EQ(ranges(),
            (std::vector<std::string>{"", "bytes=100000-", "bytes=100000-", "bytes=150000-"}));
  for (size_t i = 1; i < gets().size(); ++i) EXPECT_EQ(gets()[i].if_range, "\"v1\"");
}

TEST_F(DownloadTest, StartsAgainWhereTheServerIgnoresTheRange) {
  script({{.cut_after = 100'000}, {.ignore_range = true}});
  EXPECT_EQ(run().received, 100'000 + size());
  expect_complete();
}

TEST_F(DownloadTest, StartsAgainWhenTheFileHasChanged) {
  const HttpBehaviour cut{.body = some_bytes(2, 200'000), .etag = "\"v0\"", .cut_after = 150'000};
  HttpBehaviour cut_of_same_size = cut;
  cut_of_same_size.body = some_bytes(2, size());
  const std::vector<std::vector<HttpBehaviour>> scripts = {
      {cut},  // the server sees by If-Range that the part is outdated
      {cut_of_same_size, {.ignore_if_range = true}},        // only the ETag tells
      {cut, {.ignore_if_range = true, .etag = "\"v0\""}}};  // only the size tells
  for (size_t i = 0; i < scripts.size(); ++i) {
    SCOPED_TRACE(i);
    std::filesystem::remove(request_.destination);
    const size_t before = gets().size();
    script(scripts[i]);
    run();
    expect_complete();
    EXPECT_EQ(gets().at(before + 1).if_range, "\"v0\"");
  }
}

TEST_F(DownloadTest, APartOfOtherBytesIsRefused) {
  script({{.cut_after = 100'000}, {.range_error = 7}});
  EXPECT_EQ(run().received, 100'000 + size());
  expect_complete();
  EXPECT_EQ(ranges(), (std::vector<std::string>{"", "bytes=100000-", ""}));
}

TEST_F(DownloadTest, WithoutAStrongETagOnlyAKnownHashLetsItResume) {
  const HttpBehaviour weak{.etag = "W/\"v1\"", .cut_after = 100'000};
  const HttpBehaviour none{.no_etag = true, .cut_after = 100'000};
  for (const HttpBehaviour& behaviour : {weak, none}) {
    for (const bool known : {false, true}) {
      std::filesystem::remove(request_.destination);
      request_.sha256 = known ? sha256_hex(content_) : "";
      const size_t before = gets().size();
      script({behaviour});
      run();
      expect_complete();
      EXPECT_EQ(gets().at(before + 1).range, known ? "bytes=100000-" : "");
      EXPECT_EQ(gets().at(before + 1).if_range, "");
    }
  }
}

TEST_F(DownloadTest, ContinuesAsLongAsDataArrive) {
  content_ = some_bytes(3, 6 << 20);
  server_.add_file(kPath, content_);
  options_.retries = 1;
  script(std::vector<HttpBehaviour>(4, HttpBehaviour{.cut_after = (1 << 20) + 1}));
  EXPECT_EQ(run().requests, 5);
  expect_complete();
}

TEST_F(DownloadTest, GivesUpWhenNothingIsReceived) {
  options_.retries = 3;
  script(std::vector<HttpBehaviour>(20, HttpBehaviour{.cut_after = 10}));
  expect_error(ErrorKind::kIo, {request_.url, "given up after 4 attempts"}, [&] { run(); });
  EXPECT_EQ(gets().size(), 4U);
  expect_nothing_published();
  // The 40 bytes are not lost.
  script({});
  EXPECT_EQ(run().received, size() - 40);
  expect_complete();
}

TEST_F(DownloadTest, PermanentErrorsAreNotRetried) {
  for (const int status : {400, 401, 403, 404, 410}) {
    const size_t before = gets().size();
    script({{.status = status}});
    expect_error(ErrorKind::kIo, {request_.url, std::to_string(status)}, [&] { run(); });
    EXPECT_EQ(gets().size(), before + 1);
  }
  request_.url = server_.url("/nothing/here");
  expect_error(ErrorKind::kIo, {request_.url, "404 (not found)"}, [&] { run(); });
  expect_nothing_published();
  EXPECT_TRUE(read_bytes(part()).empty()) << "an error page is not content";
}

TEST_F(DownloadTest, TransientErrorsAreRetried) {
  script({{.status = 500}, {.status = 503}, {.status = 429}, {.cut_after = 1000}, {.status = 502}});
  EXPECT_EQ(run().requests, 6);
  expect_complete();
  EXPECT_EQ(ranges().back(), "bytes=1000-");
}

TEST_F(DownloadTest, WaitsAsLongAsTheServerAsksButNotForever) {
  options_.max_retry_after_s = 0.3;
  for (const int status : {429, 503}) {
    std::filesystem::remove(request_.destination);
    script({{.status = status, .headers = "Retry-After: 86400\r\n"}});
    const Stopwatch watch;
    run();
    EXPECT_GE(watch.seconds(), 0.3);
    EXPECT_LT(watch.seconds(), 10.0);
    expect_complete();
  }
}

TEST_F(DownloadTest, AStalledTransferIsCutAndResumed) {
  script({{.silent = true}});
  const Stopwatch watch;
  EXPECT_EQ(run().requests, 2);
  EXPECT_GE(watch.seconds(), 0.9);
  expect_complete();
}

TEST_F(DownloadTest, FollowsRedirectsUpToABound) {
  request_.url = server_.url("/start");
  server_.add_file("/start", "");
  const std::string location = "Location: " + server_.url(kPath) + "\r\n";
  script({{.cut_after = 5000}});
  server_.script("GET", "/start",
                 {{.status = 302, .headers = location}, {.status = 307, .headers = location}});
  run();
  expect_complete();
  EXPECT_EQ(ranges(), (std::vector<std::string>{"", "bytes=5000-"}));

  options_.http.max_redirects = 2;
  request_.destination = directory_ / "home" / "loop.bin";
  server_.script("GET", "/start",
                 std::vector<HttpBehaviour>(
                     9, {.status = 302, .headers = "Location: " + server_.url("/start") + "\r\n"}));
  expect_error(ErrorKind::kIo, {request_.url, "redirects"}, [&] { run(); });
}

TEST_F(DownloadTest, AWrongSizeIsTriedAgainAndThenAnError) {
  request_.bytes = size();
  script({{.body = "too short"}, {.body = content_ + "x"}});
  EXPECT_EQ(run().requests, 3);
  expect_complete();

  request_.destination = directory_ / "home" / "two.bin";
  script(std::vector<HttpBehaviour>(9, HttpBehaviour{.body = "too short"}));
  const size_t before = gets().size();
  expect_error(ErrorKind::kData, {request_.url, "expected 300000 bytes", "9", "3 attempts"},
               [&] { run(); });
  EXPECT_EQ(gets().size(), before + 3);
  expect_nothing_published();
}

TEST_F(DownloadTest, AWrongContentLengthIsDetected) {
  request_.bytes = size();
  script({{.length_error = 5}, {.length_error = -5}, {.no_length = true, .cut_after = 777}});
  run();
  expect_complete();
  EXPECT_EQ(ranges(), (std::vector<std::string>{"", "", "", "bytes=777-"}));
  // Without a known size this is a broken connection: nothing shows that all bytes have arrived.
  request_.bytes.reset();
  request_.destination = directory_ / "home" / "two.bin";
  script({{.length_error = 5}});
  run();
  EXPECT_TRUE(read_bytes(request_.destination) == content_);
}

TEST_F(DownloadTest, AWrongHashIsTriedAgainAndThenAnError) {
  request_.sha256 = sha256_hex(content_);
  std::string damaged = content_;
  damaged[200'000] ^= 1;
  script({{.body = damaged}});
  EXPECT_EQ(run().received, 2 * size());
  expect_complete();

  request_.destination = directory_ / "home" / "two.bin";
  script(std::vector<HttpBehaviour>(9, HttpBehaviour{.body = damaged}));
  expect_error(ErrorKind::kData,
               {request_.url, "SHA-256 " + request_.sha256, "found " + sha256_hex(damaged)},
               [&] { run(); });
  expect_nothing_published();
}

TEST_F(DownloadTest, AKilledProcessIsContinued) {
  script({{.bytes_for_each_ms = 500}});
  ChildProcess child([&] {
    run();
    return 0;
  });
  while (!std::filesystem::exists(part()) || std::filesystem::file_size(part()) < 20'000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  child.kill(SIGKILL);
  child.wait();
  expect_nothing_published();
  const auto there = static_cast<int64_t>(std::filesystem::file_size(part()));
  ASSERT_LT(there, size());
  EXPECT_EQ(run().received, size() - there);
  expect_complete();
  EXPECT_EQ(ranges(), (std::vector<std::string>{"", fmt::format("bytes={}-", there)}));
}

TEST_F(DownloadTest, APartWithoutItsRecordStartsAgain) {
  make_directories(directory_ / "home");
  write_bytes(part(), "of something else");
  run();
  expect_complete();
  EXPECT_EQ(ranges(), std::vector<std::string>{""});
}

TEST_F(DownloadTest, ACompletePartOnlyNeedsItsName) {
  request_.bytes = size();
  request_.sha256 = sha256_hex(content_);
  make_directories(directory_ / "home");
  write_bytes(part(), content_);
  const Json record = {{"url", "http://127.0.0.1/another/copy"},
                       {"etag", ""},
                       {"bytes", size()},
                       {"sha256", request_.sha256}};
  write_json(directory_ / "home" / ".one.bin.part.json", record);
  EXPECT_EQ(run().requests, 0);
  expect_complete();
}

TEST_F(DownloadTest, TwoAtOnceAreRefused) {
  make_directories(directory_ / "home");
  const FileLock lock(directory_ / "home" / ".one.bin.lock", "the test");
  expect_error(ErrorKind::kIo, {"the download to", "one.bin", "locked by"}, [&] { run(); });
  EXPECT_TRUE(gets().empty());
}

TEST_F(DownloadTest, AFullDiskIsReportedAndThePartIsKept) {
  ChildProcess child([&] {
    // The kernel refuses to let a file grow, as a full disk would.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    try {
      run();
    } catch (const Error& error) {
      const bool named = std::string(error.what()).find(part().string()) != std::string::npos;
      return error.kind() == ErrorKind::kIo && named ? 0 : 3;
    }
    return 4;
  });
  EXPECT_EQ(child.exit_status(), 0);
  expect_nothing_published();
  EXPECT_EQ(run().received, size() - 100'000);
  expect_complete();
}

TEST_F(DownloadTest, AStopRequestEndsItSoon) {
  const Stopwatch watch;
  options_.http.stop = [&] { return watch.seconds() > 0.1; };
  options_.http.stall_timeout_s = 60;
  script({{.bytes_for_each_ms = 10}});
  expect_error(ErrorKind::kIo, {request_.url, "was stopped"}, [&] { run(); });
  EXPECT_LT(watch.seconds(), 5.0);
  options_.first_delay_s = 60.0;
  options_.max_delay_s = 60.0;
  const Stopwatch second;
  options_.http.stop = [&] { return second.seconds() > 0.1; };
  script({{.status = 503}});
  expect_error(ErrorKind::kIo, {request_.url, "was stopped"}, [&] { run(); });
  EXPECT_LT(second.seconds(), 5.0);
}

TEST_F(DownloadTest, UnreachableServersAreNamed) {
  options_.retries = 1;
  request_.url = "http://127.0.0.1:1/nothing";
  expect_error(ErrorKind::kIo, {request_.url, "connect", "given up"}, [&] { run(); });
  request_.url = "file:///etc/hostname";
  expect_error(ErrorKind::kIo, {request_.url}, [&] { run(); });
  expect_nothing_published();
}

// The same server with TLS, whose certificate is trusted only through `certificates`.
class SecureDownloadTest : public DownloadTest {
 protected:
  void serve(HttpServer& server) {
    server.add_file(kPath, content_);
    request_.url = server.url(kPath);
    write_bytes(directory_ / "trusted.pem", server.certificate());
  }
  void trust() { options_.http.certificates = directory_ / "trusted.pem"; }
};

TEST_F(SecureDownloadTest, RequiresATrustedCertificate) {
  HttpServer server("127.0.0.1");
  serve(server);
  expect_error(ErrorKind::kIo, {request_.url, "certificate"}, [&] { run(); });
  expect_error(ErrorKind::kIo, {request_.url, "certificate"},
               [&] { describe_url(request_.url, options_, &log_); });
  expect_nothing_published();
  EXPECT_TRUE(server.seen("GET", kPath).empty());
  trust();
  server.script("GET", kPath, {{.cut_after = 100'000}, {.status = 503}});
  run();
  expect_complete();
  EXPECT_EQ(server.seen("GET", kPath).at(2).range, "bytes=100000-");
}

TEST_F(SecureDownloadTest, ACertificateOfAnotherHostIsRefused) {
  HttpServer server("127.0.0.2");
  serve(server);
  trust();
  expect_error(ErrorKind::kIo, {request_.url, "127.0.0.1"}, [&] { run(); });
  expect_nothing_published();
}

TEST_F(SecureDownloadTest, NothingLeadsAwayFromTls) {
  HttpServer server("127.0.0.1");
  serve(server);
  trust();
  const HttpBehaviour away{.status = 302, .headers = "Location: " + server_.url(kPath) + "\r\n"};
  server.script("GET", kPath, {away});
  server.script("HEAD", kPath, {away});
  expect_error(ErrorKind::kIo, {request_.url, "rotocol"}, [&] { run(); });
  expect_error(ErrorKind::kIo, {request_.url, "away from https"},
               [&] { describe_url(request_.url, options_, &log_); });
  EXPECT_TRUE(gets().empty());
  expect_nothing_published();
}

class DescribeTest : public DownloadTest {
 protected:
  RemoteFile describe() { return describe_url(request_.url, options_, &log_); }
  void script_head(const std::vector<HttpBehaviour>& behaviours) {
    server_.script("HEAD", kPath, behaviours);
  }
};

TEST_F(DescribeTest, ReportsSizeAndHashFromTheServer) {
  EXPECT_EQ(describe().bytes, size());
  EXPECT_EQ(describe().sha256, "");
  script_head({{.status = 503}, {.status = 429}});
  EXPECT_EQ(describe().bytes, size());
  script_head({{.status = 405}});
  EXPECT_EQ(describe().bytes, std::nullopt);
  script_head({{.status = 404}});
  expect_error(ErrorKind::kIo, {request_.url, "404 (not found)"}, [&] { describe(); });
}

TEST_F(DescribeTest, UsesTheDescriptionInARedirect) {
  const std::string hash = sha256_hex(content_);
  script_head({{.status = 302,
                .headers = "Location: http://127.0.0.1:1/elsewhere\r\nX-Linked-Size: 300000\r\n"
                           "X-Linked-ETag: \"" +
                           hash + "\"\r\n"}});
  const RemoteFile file = describe();
  EXPECT_EQ(file.bytes, size());
  EXPECT_EQ(file.sha256, hash);
  // Others are followed; one that answers to GET alone says nothing.
  script_head({{.status = 307, .headers = "Location: /files/two.bin\r\n"}});
  server_.add_file("/files/two.bin", "12345");
  EXPECT_EQ(describe().bytes, 5);
  script_head({{.status = 307, .headers = "Location: /files/two.bin\r\n"}});
  server_.script("HEAD", "/files/two.bin", {{.status = 403}});
  EXPECT_EQ(describe().bytes, std::nullopt);
  script_head(std::vector<HttpBehaviour>(
      20, {.status = 302, .headers = std::string("Location: ") + kPath + "\r\n"}));
  expect_error(ErrorKind::kIo, {request_.url, "10 redirects"}, [&] { describe(); });
}

}  // namespace
}  // namespace saddle::data
