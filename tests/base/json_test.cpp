#include "base/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

TEST(Json, NumbersThatAreNotFiniteBecomeNull) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(json_number(infinity).is_null());
  EXPECT_TRUE(json_number(-infinity).is_null());
  EXPECT_TRUE(json_number(nan).is_null());
  EXPECT_EQ(json_number(1.5).dump(), "1.5");
  // Also for values that did not pass through json_number().
  const Json value = {{"a", nan}, {"b", {infinity, 1.5}}};
  EXPECT_EQ(canonical_json(value), R"({"a":null,"b":[null,1.5]})");
  const TemporaryDirectory directory;
  write_json(directory / "file", value);
  EXPECT_EQ(read_file(directory / "file"),
            "{\n  \"a\": null,\n  \"b\": [\n    null,\n    1.5\n  ]\n}\n");
  EXPECT_TRUE(read_json(directory / "file")["a"].is_null());
}

TEST(Json, ErrorsNameTheSourceAndThePosition) {
  // The position is the first byte, counted from 1, at which the text can no longer be JSON.
  expect_error(ErrorKind::kData, {"manifest.json: not valid JSON at byte 7:"},
               [] { parse_json(R"({"a": x})", "manifest.json"); });
  for (const char* text : {"", "{", "[1,]", "{\"a\":1} 2", "NaN", "[Infinity]", "[1e999]", "'a'",
                           "{a:1}", "[01]", "\"\xff\"", "// comment\n1"}) {
    expect_error(ErrorKind::kData, {"here: not valid JSON"}, [&] { parse_json(text, "here"); });
  }
}

TEST(Json, RefusesANulByteAndTheTextAfterIt) {
  using namespace std::string_view_literals;
  expect_error(ErrorKind::kData, {"there", "byte 9", "NUL"},
               [] { parse_json("{\"a\": 1}\0{\"b\": 2}"sv.substr(0, 17), "there"); });
}

TEST(Json, RefusesAKeyThatOccursTwiceInOneObject) {
  expect_error(ErrorKind::kData, {"here", "\"b\" occurs twice"},
               [] { parse_json(R"({"a":1,"b":2,"b":3})", "here"); });
  expect_error(ErrorKind::kData, {"\"a\" occurs twice"},
               [] { parse_json(R"([{"x":{"a":{},"b":[{}],"a":null}}])", "here"); });
  EXPECT_NO_THROW(parse_json(R"({"a":{"a":1},"b":[{"a":1},{"a":2}]})", "here"));
}

TEST(Json, RefusesEndlessNesting) {
  const std::string deep(100000, '[');
  expect_error(ErrorKind::kData, {"nested deeper"}, [&] { parse_json(deep, "here"); });
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + "1" + std::string(levels, ']');
  };
  EXPECT_NO_THROW(parse_json(nested(256), "here"));
  expect_error(ErrorKind::kData, {"deeper than 256 levels"},
               [&] { parse_json(nested(257), "here"); });
}

TEST(Json, CanonicalTextSortsKeysAtEveryLevel) {
  const Json one =
      parse_json(R"({"b": [ {"z":1, "y":-0.5e-3} ], "a": {"d":true, "c":"\u00e9"}})", "one");
  const Json other = parse_json(R"({"a":{"c":"é","d":true},"b":[{"y":-0.0005,"z":1}]})", "other");
  EXPECT_EQ(canonical_json(one), R"({"a":{"c":"é","d":true},"b":[{"y":-0.0005,"z":1}]})");
  EXPECT_EQ(canonical_json(one), canonical_json(other));
}

TEST(Json, NumbersSurviveWritingAndReading) {
  const Json value = {{"big", std::numeric_limits<uint64_t>::max()},
                      {"small", std::numeric_limits<int64_t>::min()},
                      {"third", 1.0 / 3.0},
                      {"tiny", std::numeric_limits<double>::denorm_min()}};
  EXPECT_EQ(parse_json(canonical_json(value), "here"), value);
}

TEST(Json, IntegersAreWholeAndFit) {
  EXPECT_EQ(json_integer(Json::parse("9223372036854775807")), INT64_MAX);
  EXPECT_EQ(json_integer(Json::parse("-9223372036854775808")), INT64_MIN);
  for (const char* text : {"9223372036854775808", "1.0", "1e300", "\"1\"", "null", "true"}) {
    EXPECT_THROW(json_integer(Json::parse(text)), Json::type_error) << text;
  }
}

TEST(Json, FilesKeepTheOrderOfKeysAndNameThePath) {
  const TemporaryDirectory directory;
  write_json(directory / "file", {{"b", 1}, {"a", 2}});
  EXPECT_EQ(read_file(directory / "file"), "{\n  \"b\": 1,\n  \"a\": 2\n}\n");
  write_file_atomically(directory / "file", "{");
  expect_error(ErrorKind::kData, {(directory / "file").string(), "at byte 2"},
               [&] { read_json(directory / "file"); });
}

TEST(Json, BytesThatAreNotUtf8AreReplacedWhereNothingDependsOnThem) {
  const TemporaryDirectory directory;
  const Json value = {{"file", "a\xFFz"}};
  EXPECT_EQ(json_text(value), "{\"file\":\"a\xEF\xBF\xBDz\"}");
  write_json(directory / "file", value);
  EXPECT_EQ(read_json(directory / "file")["file"], "a\xEF\xBF\xBDz");

  const Path exact = directory / "exact";
  expect_error(ErrorKind::kData, {exact.string(), "cannot be written as JSON", "UTF-8"},
               [&] { write_exact_json(exact, value); });
  EXPECT_FALSE(std::filesystem::exists(exact));
  write_exact_json(exact, {{"b", "\xC3\xA4"}, {"a", 2}});
  EXPECT_EQ(read_file(exact), "{\n  \"b\": \"\xC3\xA4\",\n  \"a\": 2\n}\n");
  // Two names must not become one identity.
  expect_error(ErrorKind::kData, {"cannot be written as JSON"}, [&] { canonical_json(value); });
}

}  // namespace
}  // namespace saddle
