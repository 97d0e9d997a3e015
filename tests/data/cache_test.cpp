#include "data/cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "data/fixtures.h"
#include "support/child_process.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/token_cache.h"

namespace saddle::data {
namespace {

std::vector<uint16_t> read(const TokenCache& cache, Split split, int64_t first, int64_t count) {
  std::vector<uint16_t> ids(static_cast<size_t>(count));
  cache.read(split, first, count, ids.data());
  return ids;
}

class CacheTest : public ::testing::Test {
 protected:
  // 25 training tokens in shards of 10, 7 of validation, ids under 1000.
  void SetUp() override {
    write_token_cache(directory_, counting_ids(25, 1000, 100), counting_ids(7, 1000, 500), 1000,
                      10);
  }
  // Changes the manifest and gives it the identity of its new contents.
  void edit_manifest(const std::function<void(Json*)>& edit) const {
    Json json = read_json(directory_ / "manifest.json");
    edit(&json);
    json.erase("identity");
    json["identity"] = sha256_hex(canonical_json(json));
    write_json(directory_ / "manifest.json", json);
  }
  void expect_refused(const std::vector<std::string>& parts) const {
    expect_error(ErrorKind::kData, parts, [&] { const TokenCache cache(directory_); });
  }
  void change_byte(const std::string& name, size_t offset, char value) const {
    std::string bytes = read_bytes(directory_ / name);
    bytes[offset] = value;
    write_bytes(directory_ / name, bytes);
  }
  TemporaryDirectory temporary_;
  Path directory_ = temporary_ / "cache";
};

TEST_F(CacheTest, ShardsAreLittleEndianAndFull) {
  EXPECT_EQ(read_bytes(directory_ / "train-00000.bin").size(), 20U);
  EXPECT_EQ(read_bytes(directory_ / "train-00001.bin").size(), 20U);
  EXPECT_EQ(read_bytes(directory_ / "train-00002.bin").size(), 10U);
  EXPECT_EQ(read_bytes(directory_ / "validation-00000.bin"),
            std::string("\xF4\x01\xF5\x01\xF6\x01\xF7\x01\xF8\x01\xF9\x01\xFA\x01", 14));
}

TEST_F(CacheTest, ReadsEveryPieceAcrossShards) {
  const TokenCache cache(directory_);
  EXPECT_EQ(cache.tokens(Split::kTrain), 25);
  EXPECT_EQ(cache.tokens(Split::kValidation), 7);
  for (int64_t first = 0; first <= 25; ++first) {
    for (int64_t count = 0; first + count <= 25; ++count) {
      EXPECT_EQ(read(cache, Split::kTrain, first, count), counting_ids(count, 1000, 100 + first));
    }
  }
  EXPECT_EQ(read(cache, Split::kValidation, 0, 7), counting_ids(7, 1000, 500));
  cache.verify();
}

TEST_F(CacheTest, RefusesToReadBeyondTheEnd) {
  const TokenCache cache(directory_);
  for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 26}, {25, 1}, {-1, 2}, {0, -1}, {INT64_MAX, 1}, {1, INT64_MAX}}) {
    expect_error(ErrorKind::kInternal, {"train has 25"},
                 [&] { cache.read(Split::kTrain, first, count, nullptr); });
  }
}

TEST_F(CacheTest, StoresTheWholeRangeOf16Bits) {
  const std::vector<uint16_t> ids = {0, 1, 255, 256, 32'767, 32'768, 65'534, 65'535};
  write_token_cache(temporary_ / "wide", ids, ids, 65'536);
  EXPECT_EQ(read(TokenCache(temporary_ / "wide"), Split::kTrain, 0, 8), ids);
}

TEST_F(CacheTest, ManifestSurvivesWritingAndReading) {
  CacheManifest manifest = read_manifest(directory_ / "manifest.json");
  manifest.revision = "r1";
  manifest.shuffle_seed = UINT64_MAX;
  manifest.shuffle_buffer = 77;
  manifest.eos_id = 2;
  manifest.validation.complete = false;
  manifest.train.skipped = {{"no text", 3}, {"empty text", 4}};
  manifest.train.sources = {{"a.json", 12, "beef"}, {"b.json", 5, "cafe"}};
  const Json json = manifest_to_json(manifest);
  write_json(directory_ / "manifest.json", json);
  CacheManifest again = read_manifest(directory_ / "manifest.json");
  EXPECT_EQ(again.identity, json["identity"]);
  EXPECT_NE(again.identity, manifest.identity);
  again.identity = manifest.identity;
  EXPECT_EQ(again, manifest);
}

TEST_F(CacheTest, IdentityIsTheHashOfAllTheRest) {
  Json json = read_json(directory_ / "manifest.json");
  const auto identity = json["identity"].get<std::string>();
  json.erase("identity");
  // The canonical form, produced here by the library's sorted type.
  EXPECT_EQ(identity, sha256_hex(nlohmann::json(json).dump()));
  EXPECT_EQ(TokenCache(directory_).identity(), identity);
}

TEST_F(CacheTest, RefusesAManifestEditedByHand) {
  const std::string text = read_bytes(directory_ / "manifest.json");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"vocab_size\": 1000", "\"vocab_size\": 2000"},
           {"\"validation_complete\": true", "\"validation_complete\": false"},
           {"\"tokens\": 25", "\"tokens\": 20"},
           {"\"eos_id\": 0,", "\"eos_id\": 0, \"note\": 1,"},
           {"synthetic", "Synthetic"}}) {
    SCOPED_TRACE(to);
    const size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos);
    write_bytes(directory_ / "manifest.json",
                text.substr(0, place) + to + text.substr(place + from.size()));
    expect_refused({"manifest.json", "changed after it was written", "identity"});
  }
}

TEST_F(CacheTest, RefusesAnInconsistentManifest) {
  write_bytes(directory_ / "manifest.json", "{ \"format\": ");
  expect_refused({"manifest.json", "not valid JSON"});
  write_bytes(directory_ / "manifest.json", "[]");
  expect_refused({"manifest.json", "object"});
  const std::vector<std::pair<std::function<void(Json*)>, std::string>> cases = {
      {[](Json* json) { (*json)["version"] = 2; }, "version"},
      {[](Json* json) { (*json)["format"] = "other"; }, "format"},
      {[](Json* json) { json->erase("vocab_size"); }, "vocab_size is missing"},
      {[](Json* json) { (*json)["vocab_size"] = 0; }, "vocabulary of 0"},
      {[](Json* json) { (*json)["vocab_size"] = 65'537; }, "vocabulary of 65537"},
      {[](Json* json) { (*json)["vocab_size"] = "1000"; }, "vocab_size"},
      {[](Json* json) { (*json)["eos_id"] = 1000; }, "end-of-sequence id 1000"},
      {[](Json* json) { (*json)["shard_tokens"] = -1; }, "shard_tokens"},
      {[](Json* json) { (*json)["shard_tokens"] = 0; }, "train-00000.bin"},
      {[](Json* json) { (*json)["shard_tokens"] = 1.5; }, "shard_tokens"},
      {[](Json* json) { (*json)["train"] = 5; }, "train"},
      {[](Json* json) { (*json)["train"]["tokens"] = 26; }, "train-00002.bin to hold 6"},
      {[](Json* json) { (*json)["train"]["tokens"] = 20; }, "train-00002.bin to hold 0"},
      {[](Json* json) { (*json)["train"]["shards"][1]["tokens"] = 9; }, "train-00001.bin"},
      {[](Json* json) { (*json)["train"]["shards"][0]["name"] = "../train-00000.bin"; },
       "../train-00000.bin"},
      {[](Json* json) { (*json)["train"]["shards"].erase(2); }, "its shards have 20"},
      {[](Json* json) { (*json)["validation"]["shards"] = "none"; }, "validation.shards"},
  };
  for (const auto& [edit, part] : cases) {
    SCOPED_TRACE(part);
    write_token_cache(directory_, counting_ids(25, 1000), counting_ids(7, 1000), 1000, 10);
    edit_manifest(edit);
    expect_refused({"manifest.json", part});
  }
}

TEST_F(CacheTest, RefusesDirectoriesThatAreNotCaches) {
  std::filesystem::remove(directory_ / "manifest.json");
  expect_refused({directory_.string(), "not a token cache"});
  expect_error(ErrorKind::kData, {"there is no token cache", "none", "does not exist"},
               [&] { const TokenCache cache(temporary_ / "none"); });
}

TEST_F(CacheTest, RefusesShardsOfTheWrongSize) {
  const Path shard = directory_ / "train-00001.bin";
  for (const int64_t size : {0, 2, 19}) {
    std::filesystem::resize_file(shard, static_cast<uintmax_t>(size));
    expect_refused({"train-00001.bin", "truncated", "expected 20 bytes", std::to_string(size)});
  }
  std::filesystem::resize_file(shard, 21);
  expect_refused({"train-00001.bin", "too long", "21"});
  std::filesystem::remove(shard);
  expect_refused({"train-00001.bin", "missing"});
  std::filesystem::create_directory(shard);
  expect_refused({"train-00001.bin", "missing"});
}

TEST_F(CacheTest, HasMoreShardsThanFilesMayBeOpen) {
  const std::vector<uint16_t> ids = counting_ids(200, 1000);
  write_token_cache(directory_, ids, counting_ids(7, 1000), 1000, 1);
  ChildProcess child([&] {
    const rlimit limit{32, 32};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
    const TokenCache cache(directory_);
    cache.verify();
    return read(cache, Split::kTrain, 0, 200) == ids ? 0 : 3;
  });
  EXPECT_EQ(child.exit_status(), 0) << "99: an error";
}

TEST_F(CacheTest, NoticesAShardCutWhileItIsOpen) {
  const TokenCache cache(directory_);
  std::filesystem::resize_file(directory_ / "train-00002.bin", 4);
  expect_error(ErrorKind::kIo, {"train-00002.bin"}, [&] { read(cache, Split::kTrain, 15, 10); });
  EXPECT_EQ(read(cache, Split::kTrain, 15, 7), counting_ids(7, 1000, 115));
}

TEST_F(CacheTest, VerifyNamesTheDamagedShard) {
  change_byte("train-00001.bin", 6, 'x');
  const TokenCache cache(directory_);  // sizes fit: opening does not read the shards
  expect_error(ErrorKind::kData, {"train-00001.bin", "checksum", "SHA-256"},
               [&] { cache.verify(); });
}

TEST_F(CacheTest, VerifyReportsTheFirstInvalidId) {
  change_byte("validation-00000.bin", 5, '\x7F');
  change_byte("validation-00000.bin", 9, '\x7F');
  const TokenCache cache(directory_);
  expect_error(ErrorKind::kData,
               {"validation-00000.bin", "checksum", "id 32758 at byte offset 4", "1000"},
               [&] { cache.verify(); });
}

TEST_F(CacheTest, IdsOverTheVocabularyAreNeverRead) {
  std::vector<uint16_t> ids = counting_ids(25, 1000);
  ids[17] = 1000;
  write_token_cache(directory_, ids, counting_ids(7, 1000), 1000, 10);
  const TokenCache cache(directory_);
  EXPECT_EQ(read(cache, Split::kTrain, 0, 17).size(), 17U);
  EXPECT_EQ(read(cache, Split::kTrain, 18, 7).size(), 7U);
  expect_error(ErrorKind::kData, {"train-00001.bin", "id 1000 at byte offset 14", "vocabulary"},
               [&] { read(cache, Split::kTrain, 5, 20); });
  // Here the checksum is right but the id is not.
  expect_error(ErrorKind::kData, {"train-00001.bin", "id 1000 at byte offset 14"},
               [&] { cache.verify(); });
}

TEST_F(CacheTest, ReadsBeyondFourGigabytes) {
  // A sparse shard of zeros with a few ids after byte 2^32 and after token 2^32 / 2.
  const int64_t tokens = (int64_t{1} << 31) + 1000;
  const Path shard = directory_ / "train-00000.bin";
  std::error_code code;
  std::filesystem::resize_file(shard, static_cast<uintmax_t>(2 * tokens), code);
  struct stat status {};
  if (code || ::stat(shard.c_str(), &status) != 0 || status.st_blocks > 1000) {
    std::filesystem::resize_file(shard, 0, code);
    GTEST_SKIP() << "this file system has no sparse files of 4 GiB";
  }
  const std::vector<uint16_t> ids = counting_ids(500, 1000, 1);
  {
    std::fstream stream(shard, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(2 * (tokens - 600));
    stream.write(reinterpret_cast<const char*>(ids.data()), 1000);
  }
  std::filesystem::remove(directory_ / "train-00001.bin");
  std::filesystem::remove(directory_ / "train-00002.bin");
  edit_manifest([&](Json* json) {
    (*json)["shard_tokens"] = tokens;
    (*json)["train"]["tokens"] = tokens;
    (*json)["train"]["shards"].erase(2);
    (*json)["train"]["shards"].erase(1);
    (*json)["train"]["shards"][0]["tokens"] = tokens;
  });
  const TokenCache cache(directory_);
  EXPECT_EQ(read(cache, Split::kTrain, tokens - 600, 500), ids);
  EXPECT_EQ(read(cache, Split::kTrain, tokens - 100, 100), std::vector<uint16_t>(100, 0));
}

}  // namespace
}  // namespace saddle::data
