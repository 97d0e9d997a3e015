#include "runtime/waiting.h"

#include <fmt/format.h>

#include <cstring>

namespace emulated {
namespace {

// The texts are compared too: two sources may have their own copies of one.
bool same_text(const char* a, const char* b) {
  return a == b || std::strcmp(a, b) == 0;
}

// The same call in the source.
bool same_call(const Wait& a, const Wait& b) {
  return a.kind == b.kind && a.where.line() == b.where.line() &&
         a.where.column() == b.where.column() && same_text(a.what, b.what) &&
         same_text(a.where.file_name(), b.where.file_name());
}

// Whether the lanes of `mask` in the warp [begin, begin + count) wait for exactly each other.
bool complete(const Thread* begin, unsigned count, unsigned first) {
  const Wait& wait = begin[first].wait;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((wait.mask >> lane & 1) == 0) continue;
    if (lane >= count || begin[lane].state != Thread::kWaits) return false;
    const Wait& other = begin[lane].wait;
    if (other.mask != wait.mask || !same_call(other, wait)) return false;
    const bool takes = wait.kind == Wait::kExchange;
    if (takes && (wait.mask >> other.source & 1) == 0) return false;
  }
  return true;
}

void release(Thread* begin, unsigned first) {
  const Wait wait = begin[first].wait;
  uint64_t votes = 0;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((wait.mask >> lane & 1) == 0) continue;
    votes |= begin[lane].wait.value << lane;
    begin[lane].result = begin[begin[lane].wait.source].wait.value;
  }
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((wait.mask >> lane & 1) == 0) continue;
    if (wait.kind == Wait::kBallot) begin[lane].result = votes;
    begin[lane].state = Thread::kReady;
  }
}

// Of a thread that is lane `lane` of a warp of `count` threads.
std::string describe(const Thread& thread, unsigned lane, unsigned count) {
  if (thread.state == Thread::kDone) return "returned";
  const Wait& wait = thread.wait;
  const char* file = std::strrchr(wait.where.file_name(), '/');
  file = file == nullptr ? wait.where.file_name() : file + 1;
  const std::string place = fmt::format("{}:{}", file, wait.where.line());
  if (wait.kind == Wait::kBlock) return fmt::format("at {} ({})", wait.what, place);
  std::string text = fmt::format("at {} of lanes {:#x} ({})", wait.what, wait.mask, place);
  if (count < kWarp && wait.mask >> count != 0) {
    text += fmt::format(", of which the block has {}", count);
  } else if ((wait.mask >> lane & 1) == 0) {
    text += ", which leave itself out";
  } else if (wait.kind == Wait::kExchange && (wait.mask >> wait.source & 1) == 0) {
    text += fmt::format(", which leave its source {} out", wait.source);
  }
  return text;
}

std::string describe(Threads threads, unsigned t) {
  const unsigned warp = t / kWarp * kWarp;
  const unsigned count = threads.count - warp < kWarp ? threads.count - warp : kWarp;
  return describe(threads.begin[t], t - warp, count);
}

bool any_returned(Threads threads) {
  for (unsigned t = 0; t < threads.count; ++t) {
    if (threads.begin[t].state == Thread::kDone) return true;
  }
  return false;
}

}  // namespace

bool all_done(Threads threads) {
  for (unsigned t = 0; t < threads.count; ++t) {
    if (threads.begin[t].state != Thread::kDone) return false;
  }
  return true;
}

bool release_block(Threads threads) {
  for (unsigned t = 0; t < threads.count; ++t) {
    const Thread& thread = threads.begin[t];
    if (thread.state != Thread::kWaits || thread.wait.kind != Wait::kBlock) return false;
    if (!same_call(thread.wait, threads.begin[0].wait)) return false;
  }
  for (unsigned t = 0; t < threads.count; ++t) threads.begin[t].state = Thread::kReady;
  return true;
}

bool release_warps(Threads threads) {
  bool any = false;
  for (unsigned warp = 0; warp < threads.count; warp += kWarp) {
    Thread* const begin = threads.begin + warp;
    const unsigned count = threads.count - warp < kWarp ? threads.count - warp : kWarp;
    for (unsigned lane = 0; lane < count; ++lane) {
      const Thread& thread = begin[lane];
      if (thread.state != Thread::kWaits || thread.wait.kind == Wait::kBlock) continue;
      if ((thread.wait.mask >> lane & 1) == 0 || !complete(begin, count, lane)) continue;
      release(begin, lane);
      any = true;
    }
  }
  return any;
}

std::string describe_waiting(Threads threads) {
  std::string text =
      any_returned(threads) ? "threads wait for ever:" : "threads wait for different things:";
  for (unsigned t = 0; t < threads.count;) {
    const std::string what = describe(threads, t);
    unsigned end = t + 1;
    while (end < threads.count && describe(threads, end) == what) ++end;
    if (t > 0) text += ";";
    text += end == t + 1 ? fmt::format(" thread {} {}", t, what)
                         : fmt::format(" threads {} to {} {}", t, end - 1, what);
    t = end;
  }
  return text;
}

}  // namespace emulated
