#include "data/long_words.h"

#include <gtest/gtest.h>

#include <string>

namespace saddle::data {
namespace {

// What remains of `line` when words may have four characters, a space in front of them included.
std::string short_words(std::string line, int64_t expected_removed) {
  EXPECT_EQ(remove_long_words(4, &line), expected_removed);
  return line;
}

TEST(LongWords, AreRemovedWithTheirSpaces) {
  EXPECT_EQ(short_words("", 0), "");
  EXPECT_EQ(short_words("abc def", 0), "abc def");
  EXPECT_EQ(short_words("abcd", 1), "");
  EXPECT_EQ(short_words("ab abcd cd", 1), "ab cd");
  EXPECT_EQ(short_words("ab abcd", 1), "ab");
  EXPECT_EQ(short_words("abcd  cd efgh", 2), " cd");  // the dummy space comes in front again
  EXPECT_EQ(short_words("abcd cd", 1), "cd");
}

TEST(LongWords, SpacesCountAndBelongToTheNextWord) {
  EXPECT_EQ(short_words("a   b c", 0), "a   b c");
  EXPECT_EQ(short_words("a    b c", 1), "a c");
  EXPECT_EQ(short_words("a     ", 1), "a");
  EXPECT_EQ(short_words("   a b", 1), "b");  // and the dummy space
  EXPECT_EQ(short_words("a\tb\tc", 1), "");  // SentencePiece does not treat a tab as a space
}

TEST(LongWords, TheVisibleSpaceIsASpace) {
  EXPECT_EQ(short_words("ab\u2581abcd\u2581cd", 1), "ab\u2581cd");
  EXPECT_EQ(short_words("abcd\u2581cd", 1), "cd");
  EXPECT_EQ(short_words("a \u2581 b", 0), "a \u2581 b");
  EXPECT_EQ(short_words("a \u2581 bc", 1), "a");
}

TEST(LongWords, CharactersCountAndNotBytes) {
  EXPECT_EQ(short_words("\u65E5\u672C\u8A9E ab", 0), "\u65E5\u672C\u8A9E ab");
  EXPECT_EQ(short_words("ab \u65E5\u672C\u8A9E\u65E5", 1), "ab");
  EXPECT_EQ(short_words("\U0001F600\U0001F600\U0001F600", 0), "\U0001F600\U0001F600\U0001F600");
  EXPECT_EQ(short_words("\xFF\xFF\xE2 a", 0), "\xFF\xFF\xE2 a");
  EXPECT_EQ(short_words("\xFF\xFF\xFF\xE2 a", 1), "a");
}

}  // namespace
}  // namespace saddle::data
