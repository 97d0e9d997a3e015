#include "data/lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/fixtures.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

std::vector<std::string> all_lines(const Path& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  std::string line;
  while (reader.next(&line)) {
    lines.push_back(line);
    EXPECT_EQ(reader.line(), static_cast<int64_t>(lines.size()));
  }
  EXPECT_EQ(reader.bytes_read(), static_cast<int64_t>(std::filesystem::file_size(path)));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Lines, PlainAndCompressedAreTheSame) {
  const TemporaryDirectory directory;
  const std::vector<std::pair<std::string, Lines>> cases = {
      {"one\ntwo\n", {"one", "two"}},
      {"one\n\ntwo", {"one", "", "two"}},
      {"\n", {""}},
      {"x", {"x"}},
      {"a\r\nb\r\n", {"a\r", "b\r"}},
      {std::string("nul\0in\n", 7), {std::string("nul\0in", 6)}}};
  for (const auto& [text, expected] : cases) {
    write_bytes(directory / "plain.txt", text);
    write_bytes(directory / "packed.txt.gz", gzip(text));
    EXPECT_EQ(all_lines(directory / "plain.txt"), expected);
    EXPECT_EQ(all_lines(directory / "packed.txt.gz"), expected);
  }
}

TEST(Lines, EmptyFiles) {
  const TemporaryDirectory directory;
  write_bytes(directory / "plain.txt", "");
  write_bytes(directory / "packed.gz", gzip(""));
  EXPECT_EQ(all_lines(directory / "plain.txt"), Lines{});
  EXPECT_EQ(all_lines(directory / "packed.gz"), Lines{});
}

TEST(Lines, LinesLongerThanEveryBuffer) {
  const TemporaryDirectory directory;
  const Lines expected = {std::string(3'500'000, 'a'), "b", some_text(3, 400'000).substr(0, 999)};
  const std::string text = expected[0] + "\n" + expected[1] + "\n" + expected[2];
  Lines split;  // the last one holds newlines of its own
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    split.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  write_bytes(directory / "plain.txt", text);
  write_bytes(directory / "packed.gz", gzip(text));
  EXPECT_EQ(all_lines(directory / "plain.txt"), split);
  EXPECT_EQ(all_lines(directory / "packed.gz"), split);
}

TEST(Lines, SeveralGzipMembers) {
  const TemporaryDirectory directory;
  write_bytes(directory / "packed.gz", gzip("one\ntw") + gzip("") + gzip("o\nthree\n"));
  EXPECT_EQ(all_lines(directory / "packed.gz"), (Lines{"one", "two", "three"}));
}

TEST(Lines, ZeroBytesAfterTheLastMemberAreIgnored) {
  const TemporaryDirectory directory;
  const Path path = directory / "packed.gz";
  // The second run is longer than what is read at once.
  for (const size_t zeros : {size_t{1}, size_t{700'000}}) {
    write_bytes(path, gzip("one\n") + gzip("two\n") + std::string(zeros, '\0'));
    EXPECT_EQ(all_lines(path), (Lines{"one", "two"}));
    LineReader reader(path);
    std::string line;
    while (reader.next(&line)) {
    }
    EXPECT_EQ(reader.zero_bytes(), static_cast<int64_t>(zeros));
  }
  for (const size_t zeros : {size_t{1}, size_t{512}}) {
    for (const std::string& more : {gzip("two\n"), std::string("x")}) {
      write_bytes(path, gzip("one\n") + std::string(zeros, '\0') + more);
      expect_error(ErrorKind::kData,
                   {path.string(),
                    fmt::format("{} zero bytes after a gzip member, and then more data", zeros)},
                   [&] { all_lines(path); });
    }
  }
}

TEST(Lines, OtherCompressionsAreNamed) {
  const TemporaryDirectory directory;
  for (const char* name : {"a.json.zst", "a.json.zstd", "a.xz", "a.txt.bz2"}) {
    write_bytes(directory / name, "\x28\xB5\x2F\xFD");
    const std::string ending = (directory / name).extension().string();
    expect_error(ErrorKind::kData, {name, ending + " files cannot be read", "expected .gz"},
                 [&] { LineReader reader(directory / name); });
  }
}

TEST(Lines, GzipUnderAnotherName) {
  const TemporaryDirectory directory;
  write_bytes(directory / "part", gzip("one\n"));
  LineReader reader(directory / "part", Compression::kGzip);
  std::string line;
  EXPECT_TRUE(reader.next(&line));
  EXPECT_EQ(line, "one");
}

TEST(Lines, DamagedGzipIsNamed) {
  const TemporaryDirectory directory;
  const std::string whole = gzip(json_lines(some_documents(5, 400)));
  const Path path = directory / "c4-train.json.gz";
  const auto expect_damage = [&](const std::string& bytes, const std::string& what) {
    SCOPED_TRACE(what);
    write_bytes(path, bytes);
    expect_error(ErrorKind::kData, {path.string(), what, "after line"}, [&] { all_lines(path); });
  };
  expect_damage(whole.substr(0, whole.size() / 2), "ends early");
  expect_damage(whole.substr(0, whole.size() - 1), "ends early");
  expect_damage("", "ends early");
  expect_damage(whole + gzip("x").substr(0, 9), "ends early");
  std::string flipped = whole;
  flipped[whole.size() - 6] ^= 1;  // in the checksum
  expect_damage(flipped, "incorrect data check");
  expect_damage("plain text\n", "incorrect header check");
  expect_damage(whole + "garbage", "incorrect header check");
}

TEST(Lines, MissingFile) {
  const TemporaryDirectory directory;
  expect_error(ErrorKind::kIo, {"none.json"}, [&] { LineReader reader(directory / "none.json"); });
}

}  // namespace
}  // namespace saddle::data
