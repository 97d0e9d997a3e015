// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011). A number depends only on its seed, purpose, stream and
// index, so results never depend on threads, timing or where a run was resumed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace saddle {

// The purpose of a stream of numbers; different purposes give independent numbers. The values are
// part of every saved result: append (below 2^16), never renumber.
enum class RandomPurpose : uint32_t {
  kInitialWeights = 1,
  kDocumentOrder = 2,
  kRangeOrder = 3,
  kSequenceOrder = 4,
  kEvaluationSubset = 5,
  kDirection = 6,
  kNoiseSamples = 7,
  kSampling = 8,
  kUnseenOrder = 9,
  kTest = 1000,
};

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The stream `stream` of one purpose under one seed. Every member is a pure function of `index`;
// members called with the same index are not independent of each other.
// The key is the seed. The counter is (index low, index high, stream low, purpose), so streams
// below 2^32 never share a block; for higher ones the key is first replaced by a block made from
// the high half of the stream.
class RandomStream {
 public:
  RandomStream(uint64_t seed, RandomPurpose purpose, uint64_t stream = 0);

  uint64_t bits(uint64_t index) const;                   // 64 random bits
  double uniform(uint64_t index) const;                  // in [0, 1), 53 bits
  double normal(uint64_t index) const;                   // standard normal (Box-Muller)
  double rademacher(uint64_t index) const;               // -1 or +1
  uint64_t below(uint64_t index, uint64_t bound) const;  // in [0, bound), without modulo bias

 private:
  // Block `number` of an index: 0, and further ones where a draw was refused.
  std::array<uint32_t, 4> block(uint64_t index, uint32_t number) const;
  std::array<uint32_t, 2> key_;
  uint32_t stream_;
  uint32_t purpose_;
};

// The numbers 0 .. count-1 in an order drawn from the stream (Fisher-Yates).
std::vector<int64_t> random_permutation(const RandomStream& stream, int64_t count);

}  // namespace saddle
