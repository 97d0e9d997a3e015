#include "base/error.h"

#include <gtest/gtest.h>

namespace saddle {
namespace {

TEST(Error, TheMessageIsOneLineWhateverItQuotes) {
  try {
    fail(ErrorKind::kData, "{}: expected 2, found {}", "a\nb", "\x1b[2J\xff");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_STREQ(error.what(), "a\\x0ab: expected 2, found \\x1b[2J\\xff");
  }
}

}  // namespace
}  // namespace saddle
