// The threads of a block that wait for each other: which may go on, and what is wrong if none may.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "emulated/vector_types.h"

namespace emulated {

class Fiber;

inline constexpr unsigned kWarp = 32;

// What a thread waits for.
struct Wait {
  enum Kind { kBlock, kWarp, kExchange, kBallot };
  Kind kind = kBlock;
  const char* what = nullptr;  // the function that waits
  std::source_location where{};
  uint32_t mask = 0;    // of lanes; of all kinds but kBlock
  uint64_t value = 0;   // that it gives to the others
  unsigned source = 0;  // the lane whose value it takes

  bool orders_memory() const { return kind == kBlock || kind == kWarp; }
};

struct Thread {
  enum State { kNew, kRuns, kReady, kWaits, kDone };
  State state = kNew;
  unsigned barriers = 0;  // that it has reached
  uint3 index{};
  Fiber* fiber = nullptr;
  Wait wait{};
  uint64_t result = 0;  // of its last exchange or ballot
};

struct Threads {
  Thread* begin;
  unsigned count;
};

bool all_done(Threads threads);

// Lets all threads go on if all wait at the same barrier of the block.
bool release_block(Threads threads);

// Lets the lanes go on that wait for exactly each other. Returns whether there were any.
bool release_warps(Threads threads);

// What each thread waits for, when none can go on.
std::string describe_waiting(Threads threads);

}  // namespace emulated
