// A record of the time that operations take: nested regions of the thread that runs the operations,
// and the shares of each thread in the parallel loops and products inside them.
//
// A context without a profile records nothing; the cost is a test for null in each operation and
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
    const char* group = "";  // the part of the work it belongs to: "forward"
    const char* name = "";   // "qkv"
    int64_t begin = 0;
    int64_t end = 0;
    int64_t self = 0;       // without nested regions
    int64_t depth = 0;      // regions around it
    double operations = 0;  // of its products, by their shapes; 0: not counted
  };
  struct Share {
    const char* name = "";  // of the region
    int64_t begin = 0;
    int64_t end = 0;
  };

  // threads: those of the context.
  explicit Profile(int threads) : shares_(static_cast<size_t>(threads)) {}

  int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
  }

  // Begins a region, or ends the last one that began. For the thread that runs the operations.
  void open(const char* group, const char* name, double operations, int64_t begin);
  void close(int64_t end);

  // Adds what `thread` did in the open region, outside of other loops. Called by that thread, or by
  // another one while it is idle.
  void add_share(int thread, int64_t begin, int64_t end);

  // In the order in which they began; all have ended when nothing runs.
  const std::vector<Region>& regions() const { return regions_; }
  int threads() const { return static_cast<int>(shares_.size()); }
  // The shares of one thread, in order.
  const std::vector<Share>& shares(int thread) const {
    return shares_[static_cast<size_t>(thread)].list;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct alignas(64) Shares {  // a separate cache line for each thread
    std::vector<Share> list;
  };

  Clock::time_point start_ = Clock::now();
  std::vector<Region> regions_;
  std::vector<size_t> open_;  // indices of regions_
  std::vector<Shares> shares_;
};

// A region for the duration of a scope; profile may be null.
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

// The share of a thread for the duration of a scope; profile may be null.
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
