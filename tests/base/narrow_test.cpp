#include "base/narrow.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "support/expect_error.h"

namespace saddle {
namespace {

TEST(Narrow, KeepsWhatFits) {
  EXPECT_EQ(narrow<uint16_t>(int64_t{65535}), 65535);
  EXPECT_EQ(narrow<int32_t>(int64_t{-2147483648}), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(narrow<int64_t>(size_t{7}), 7);
}

TEST(Narrow, RefusesWhatDoesNot) {
  expect_error(ErrorKind::kInternal, {"65536", "16 bits"},
               [] { narrow<uint16_t>(int64_t{65536}); });
  expect_error(ErrorKind::kInternal, {"-1"}, [] { narrow<size_t>(int64_t{-1}); });
  expect_error(ErrorKind::kInternal, {"18446744073709551615"},
               [] { narrow<int64_t>(std::numeric_limits<uint64_t>::max()); });
}

}  // namespace
}  // namespace saddle
