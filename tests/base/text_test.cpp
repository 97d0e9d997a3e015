#include "base/text.h"

#include <gtest/gtest.h>

namespace saddle {
namespace {

using namespace std::string_view_literals;

TEST(Text, BytesThatAreNotUtf8AreReplaced) {
  const std::string whole = "a\n\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF";
  EXPECT_EQ(utf8(whole), whole);
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(utf8("a\xFFz"), "a" + replaced + "z");
  EXPECT_EQ(utf8("\xC3"), replaced);                                // cut off
  EXPECT_EQ(utf8("\xC0\xAF"), replaced + replaced);                 // overlong
  EXPECT_EQ(utf8("\xED\xA0\x80"), replaced + replaced + replaced);  // a surrogate
  EXPECT_EQ(utf8("\xF4\x90\x80\x80"), utf8("\xFF\xFF\xFF\xFF"));    // over U+10FFFF
  EXPECT_EQ(utf8("\xE2\x82"
                 "a"),
            replaced + replaced + "a");
}

TEST(Text, ControlCharactersDoNotReachATerminal) {
  EXPECT_EQ(printable("run \xC3\xA4 \\x1b"), "run \xC3\xA4 \\x1b");
  EXPECT_EQ(printable("\x1b[2J\r\n\t\x7f"), "\\x1b[2J\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(printable("a\0b"sv), "a\\x00b");
  EXPECT_EQ(printable("\xC2\x9B"
                      "1m\xC2\xA0"),
            "\\xc2\\x9b1m\xC2\xA0");  // C1 is escaped, U+00A0 is kept
  EXPECT_EQ(printable("\x9B"
                      "1m\xC3"),
            "\\x9b1m\\xc3");
  EXPECT_EQ(printable_lines("a\tb\n\x1b\n"), "a\\x09b\n\\x1b\n");
}

TEST(Text, LoginsInUrlsAreNotShown) {
  EXPECT_EQ(without_logins("asking for https://me:secret@host/a@b failed"),
            "asking for https://***@host/a@b failed");
  EXPECT_EQ(without_logins("https://token@host:8080?x, 'http://a:p@ss@b'"),
            "https://***@host:8080?x, 'http://***@b'");
  EXPECT_EQ(without_logins("https://me:secret@host", ""), "https://host");
  for (const char* plain : {"", "://", "https://host/datasets/@me/x", "me@host", "a//b@c",
                            "'https://host' and me@host"}) {
    EXPECT_EQ(without_logins(plain), plain);
  }
}

}  // namespace
}  // namespace saddle
