// The summary of a profile: operations sorted by their self time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/profile.h"
#include "base/json.h"

namespace saddle::bench {

struct ProfiledOperation {
  std::string name;  // group and name: "forward qkv"
  int64_t calls = 0;
  double total_seconds = 0;
  double self_seconds = 0;  // without the operations inside
  double operations = 0;    // floating-point operations of products; 0: not counted
};

struct ProfileSummary {
  int threads = 1;
  double wall_seconds = 0;     // of the outermost regions: the updates
  double covered_seconds = 0;  // the part inside operations: the sum of their self times
  // The part in which at most one thread was at work: it bounds what more threads can gain. All of
  // it with one thread.
  double single_thread_seconds = 0;
  std::vector<ProfiledOperation> operations;  // the largest self time first

  double covered_share() const { return wall_seconds > 0 ? covered_seconds / wall_seconds : 0; }
};

// All regions of the profile must have ended. The outermost ones are the time to be explained, not
// operations.
ProfileSummary summarize(const backend::Profile& profile);

// The summary for a record: wall_seconds, covered_share, single_thread_share (null with one thread)
// and operations; their rates are null if
// their work is not counted. `peak`: operations per second that correspond to a share of 1.
Json to_json(const ProfileSummary& summary, double peak);

// The table of such a record; its last row is the time between operations.
std::string profile_table(const Json& profile);

}  // namespace saddle::bench
