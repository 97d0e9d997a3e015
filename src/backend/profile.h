// A record of where the time of operations goes: regions, one inside another, of the thread that
// runs the operations, and what each thread did of the parallel loops and products inside them.
//
// A context without a profile records nothing, at the cost of a test for null in each operation and
// loop. Every thread writes to a list of its own, so nothing is locked.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace saddle::backend {

class Profile {
 public:
  // Times are nanoseconds since the profile was made. Names are literals, which outlive it.
  struct Region {
    const char* group = "";  // what the operation is part of: "forward"
    const char* name = "";   // "qkv"
    int64_t begin = 0;
    int64_t end = 0;
    int64_t self = 0;       // without the regions inside
    int64_t depth = 0;      // regions around it
    double operations = 0;  // that its products need, by their shapes; 0: not counted
  };
  struct Share {
    const char* name = "";  // of the region
    int64_t begin = 0;
    int64_t end = 0;
  };

  // threads: of the context.
  explicit Profile(int threads) : shares_(static_cast<size_t>(threads)) {}

  int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
  }

  // A region begins, or the last one that began ends. For the thread that runs the operations.
  void open(const char* group, const char* name, double operations, int64_t begin);
  void close(int64_t end);

  // What `thread` did in the region that is open, outside of other loops. For that thread, or
  // another one while that one does nothing.
  void add_share(int thread, int64_t begin, int64_t end);

  // In the order in which they began; all have ended once nothing runs.
  const std::vector<Region>& regions() const { return regions_; }
  int threads() const { return static_cast<int>(shares_.size()); }
  // Of one thread, in order.
  const std::vector<Share>& shares(int thread) const {
    return shares_[static_cast<size_t>(thread)].list;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct alignas(64) Shares {  // a cache line of its own for each thread
    std::vector<Share> list;
  };

  Clock::time_point start_ = Clock::now();
  std::vector<Region> regions_;
  std::vector<size_t> open_;  // indices of regions_
  std::vector<Shares> shares_;
};

// A region for the time of a scope; profile may be null.
class ProfiledRegion {
 public:
  ProfiledRegion(Profile* profile, const char* group, const char* name, double operations = 0)
      : profile_(profile) {
    if (profile_ != nullptr) profile_->open(group, name, operations, profile_->now());
  }
  ProfiledRegion(const ProfiledRegion&) = delete;
  ProfiledRegion& operator=(const ProfiledRegion&) = delete;
  ~ProfiledRegion() {
    if (profile_ != nullptr) profile_->close(profile_->now());
  }

 private:
  Profile* profile_;
};

// What a thread does for the time of a scope; profile may be null.
class ProfiledShare {
 public:
  ProfiledShare(Profile* profile, int thread)
      : profile_(profile), thread_(thread), begin_(profile == nullptr ? 0 : profile->now()) {}
  ProfiledShare(const ProfiledShare&) = delete;
  ProfiledShare& operator=(const ProfiledShare&) = delete;
  ~ProfiledShare() {
    if (profile_ != nullptr) profile_->add_share(thread_, begin_, profile_->now());
  }

 private:
  Profile* profile_;
  int thread_;
  int64_t begin_;
};

}  // namespace saddle::backend
