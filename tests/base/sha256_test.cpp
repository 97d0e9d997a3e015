#include "base/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

// The examples that NIST publishes with FIPS 180.
constexpr const char* kOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfMillionA =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex(""), kOfNothing);
  EXPECT_EQ(sha256_hex("abc"), kOfAbc);
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), kOfMillionA);
}

TEST(Sha256, DoesNotDependOnThePieces) {
  const std::string text(1000000, 'a');
  Sha256 hash;
  for (size_t begin = 0, size = 1; begin < text.size(); begin += size, size = size * 2 + 1) {
    hash.update(text.data() + begin, std::min(size, text.size() - begin));
  }
  EXPECT_EQ(hash.hex(), kOfMillionA);
  expect_error(ErrorKind::kInternal, {"SHA-256"}, [&] { hash.hex(); });
  expect_error(ErrorKind::kInternal, {"SHA-256"}, [&] { hash.update("a", 1); });
}

TEST(Sha256, HashesFiles) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "empty", "");
  EXPECT_EQ(sha256_file(directory / "empty"), kOfNothing);
  std::string large(3000001, 'x');
  large.back() = 'y';
  write_file_atomically(directory / "large", large);
  EXPECT_EQ(sha256_file(directory / "large"), sha256_hex(large));
}

}  // namespace
}  // namespace saddle
