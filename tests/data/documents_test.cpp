#include "data/documents.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/fixtures.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

using Texts = std::vector<std::string>;

Texts read_all(DocumentReader* reader) {
  Texts texts;
  while (std::optional<std::string> text = reader->next()) texts.push_back(*text);
  return texts;
}

TEST(DocumentReader, ReadsFilesInOrderAndCountsWhatItLeavesOut) {
  const TemporaryDirectory directory;
  write_bytes(directory / "a.json",
              "{\"text\":\"one\",\"url\":\"u\"}\n{\"text\":\"\"}\n{\"url\":1}\n");
  write_bytes(directory / "b.json.gz", gzip("{\"text\":null}\n{\"text\":\" \"}\n"));
  write_bytes(directory / "c.json", "");
  DocumentReader reader({directory / "a.json", directory / "b.json.gz", directory / "c.json"});
  EXPECT_EQ(reader.next(), "one");
  EXPECT_EQ(reader.state().files, 1);
  EXPECT_EQ(reader.next(), " ");
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.state().files, 3);
  EXPECT_EQ(reader.state().documents, 2);
  EXPECT_EQ(reader.state().empty_text, 1);
  EXPECT_EQ(reader.state().no_text, 2);
  EXPECT_EQ(reader.state().bytes,
            static_cast<int64_t>(std::filesystem::file_size(directory / "a.json") +
                                 std::filesystem::file_size(directory / "b.json.gz")));
}

TEST(DocumentReader, IgnoresBlankLinesAndZeroBytes) {
  const TemporaryDirectory directory;
  write_bytes(directory / "a.json", "\n{\"text\":\"one\"}\n \t\r\n\n{\"text\":\"two\"}\r\n\n");
  write_bytes(directory / "b.json.gz", gzip("{\"text\":\"three\"}\n\n") + std::string(512, '\0'));
  DocumentReader reader({directory / "a.json", directory / "b.json.gz"});
  EXPECT_EQ(read_all(&reader), (Texts{"one", "two", "three"}));
  EXPECT_EQ(reader.state().documents, 3);
  EXPECT_EQ(reader.state().blank_lines, 5);
  EXPECT_EQ(reader.state().zero_bytes, 512);
  EXPECT_EQ(passed_over_text(5, 512),
            "5 blank lines and 512 zero bytes after gzip data were ignored");
  EXPECT_EQ(passed_over_text(0, 1), "1 zero bytes after gzip data were ignored");
  EXPECT_EQ(passed_over_text(0, 0), "");
}

TEST(DocumentReader, EscapedAndPlainFormsAreTheSameText) {
  const TemporaryDirectory directory;
  // The same five texts, as UTF-8 and with escapes: a surrogate pair, a slash, control characters.
  write_bytes(directory / "plain.json",
              "{\"text\":\"na\xC3\xAFve \xE2\x80\x94 \xE6\x97\xA5\"}\n"
              "{\"text\":\"\xF0\x9F\x98\x80 ok\"}\n"
              "{\"text\":\"a/b\"}\n"
              "{\"text\":\"tab\\tnew\\nline\"}\n"
              "{\"text\":\"\xEF\xBB\xBF\xC2\x92\xEF\xBF\xBD\"}\n");
  write_bytes(directory / "escaped.json",
              "{\"text\":\"na\\u00efve \\u2014 \\u65E5\"}\n"
              "{\"text\":\"\\uD83D\\ude00 ok\"}\n"
              "{\"text\":\"a\\/b\"}\n"
              "{\"text\":\"tab\\u0009new\\u000aline\"}\n"
              "{\"text\":\"\\ufeff\\u0092\\ufffd\"}\n");
  DocumentReader plain({directory / "plain.json"});
  DocumentReader escaped({directory / "escaped.json"});
  const Texts texts = read_all(&plain);
  EXPECT_EQ(texts.size(), 5U);
  EXPECT_EQ(texts[1], "\xF0\x9F\x98\x80 ok");
  EXPECT_EQ(read_all(&escaped), texts);
}

TEST(DocumentReader, BadLinesAreNamed) {
  const TemporaryDirectory directory;
  const Path path = directory / "c4-train.json";
  const std::vector<std::string> bad_lines = {
      "not json",
      "\xC2\xA0",
      "{\"text\":\"cut",
      "{\"text\":\"two\"} {\"text\":\"on a line\"}",
      "[\"text\"]",
      "\"text\"",
      "{\"text\":5}",
      "{\"text\":[\"a\"]}",
      "{\"text\":\"a\",}",
      "{'text':'a'}",
      "{\"text\":\"lone \\ud83d high\"}",
      "{\"text\":\"lone \\ude00 low\"}",
      "{\"text\":\"\\ud83d\\ud83d\"}",
      "{\"text\":\"raw \xED\xA0\xBD surrogate\"}",
      "{\"text\":\"bad \xFF byte\"}",
      "{\"text\":\"cut \xE2\x82\"}",
      "{\"text\":\"raw \x01 control\"}",
      "{\"text\":\"\\x\"}",
      std::string("{\"text\":\"nul\"}\0more", 19),
  };
  for (const std::string& line : bad_lines) {
    SCOPED_TRACE(line);
    write_bytes(path, "{\"text\":\"good\"}\n" + line + "\n{\"text\":\"good\"}\n");
    DocumentReader reader({path});
    EXPECT_EQ(reader.next(), "good");
    expect_error(ErrorKind::kData, {path.string() + " line 2"}, [&] { reader.next(); });
  }
}

}  // namespace
}  // namespace saddle::data
