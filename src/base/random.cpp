#include "base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace saddle {
namespace {

// Bits of the fourth counter word for the purpose; those above count the blocks of one index.
constexpr int kPurposeBits = 16;

uint32_t low_word(uint64_t value) {
  return static_cast<uint32_t>(value);
}
uint32_t high_word(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}
uint64_t join(uint32_t low, uint32_t high) {
  return low | (uint64_t{high} << 32);
}

std::array<uint32_t, 2> stream_key(uint64_t seed, uint64_t stream) {
  const std::array<uint32_t, 2> key{low_word(seed), high_word(seed)};
  if (high_word(stream) == 0) return key;
  const auto block = philox4x32_10({high_word(stream), 0, 0, 0}, key);
  return {block[0], block[1]};
}

}  // namespace

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t even = uint64_t{0xD2511F53} * counter[0];
    const uint64_t odd = uint64_t{0xCD9E8D57} * counter[2];
    counter = {high_word(odd) ^ counter[1] ^ key[0], low_word(odd),
               high_word(even) ^ counter[3] ^ key[1], low_word(even)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

RandomStream::RandomStream(uint64_t seed, RandomPurpose purpose, uint64_t stream)
    : key_(stream_key(seed, stream)),
      stream_(low_word(stream)),
      purpose_(static_cast<uint32_t>(purpose)) {
  if (purpose_ >> kPurposeBits != 0) {
    fail(ErrorKind::kInternal, "the random purpose {} has more than {} bits", purpose_,
         kPurposeBits);
  }
}

std::array<uint32_t, 4> RandomStream::block(uint64_t index, uint32_t number) const {
  return philox4x32_10(
      {low_word(index), high_word(index), stream_, purpose_ | (number << kPurposeBits)}, key_);
}

uint64_t RandomStream::bits(uint64_t index) const {
  const auto words = block(index, 0);
  return join(words[0], words[1]);
}

double RandomStream::uniform(uint64_t index) const {
  return static_cast<double>(bits(index) >> 11) * 0x1p-53;
}

double RandomStream::normal(uint64_t index) const {
  const auto words = block(index, 0);
  // The radius uses a number in (0, 1], whose logarithm is finite.
  const double radius = static_cast<double>((join(words[0], words[1]) >> 11) + 1) * 0x1p-53;
  const double turn = static_cast<double>(join(words[2], words[3]) >> 11) * 0x1p-53;
  return std::sqrt(-2.0 * std::log(radius)) * std::cos(2.0 * std::numbers::pi * turn);
}

double RandomStream::rademacher(uint64_t index) const {
  return (block(index, 0)[0] & 1) != 0 ? 1.0 : -1.0;
}

uint64_t RandomStream::below(uint64_t index, uint64_t bound) const {
  if (bound == 0) fail(ErrorKind::kInternal, "a random number below 0 was requested");
  // Lemire, "Fast random integer generation in an interval", 2019: the high half of x * bound,
  // refused when the low half falls into the 2^64 mod bound values that would be drawn too often.
  const uint64_t surplus = -bound % bound;
  for (uint32_t number = 0; number >> (32 - kPurposeBits) == 0; ++number) {
    const auto words = block(index, number);
    for (const uint64_t x : {join(words[0], words[1]), join(words[2], words[3])}) {
      const auto product = static_cast<unsigned __int128>(x) * bound;
      if (static_cast<uint64_t>(product) >= surplus) return static_cast<uint64_t>(product >> 64);
    }
  }
  fail(ErrorKind::kInternal, "no random number below {} in {} blocks", bound, 1 << 16);
}

std::vector<int64_t> random_permutation(const RandomStream& stream, int64_t count) {
  if (count < 0) fail(ErrorKind::kInternal, "a permutation of {} numbers was requested", count);
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t last = order.size(); last > 1; --last) {
    std::swap(order[last - 1], order[stream.below(last - 1, last)]);
  }
  return order;
}

}  // namespace saddle
