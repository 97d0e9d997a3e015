// The context in which operations run: a device, the threads of the host that they may use, scratch
// memory, and records of the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "backend/profile.h"

namespace saddle::backend {

// A block of device memory, filled with zero bytes. It may outlive its context.
class Memory {
 public:
  Memory() = default;
  // Errors: kDevice when there is not enough.
  Memory(std::shared_ptr<Device> device, int64_t bytes);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  void* get() const { return address_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Device> device_;
  void* address_ = nullptr;
  int64_t bytes_ = 0;
};

// Scratch memory for the duration of one operation. It grows to the total size requested and
// then stays, so that repeated work allocates nothing.
class Workspace {
 public:
  explicit Workspace(std::shared_ptr<Device> device);

  // Makes sure that `bytes` can be taken without an allocation.
  void reserve(int64_t bytes);

  // What is left of the memory in use, in `shares` equal parts of whole alignments: part i.
  struct Part {
    char* base = nullptr;
    int64_t bytes = 0;
  };
  Part part(int64_t i, int64_t shares) const;
  // Takes from a part of another workspace first; an empty part ends this. Not while in use.
  void borrow(Part part);

  // Until the next call: with `measuring`, take() only records the sizes, and returns addresses
  // that nobody may use. most_used() is the largest total size since.
  void set_measuring(bool measuring);
  int64_t most_used() const { return most_used_; }

  // Memory taken from a scope is returned when the scope ends. Scopes nest. Contents are
  // undefined.
  class Scope {
   public:
    explicit Scope(Workspace& workspace);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

    template <class T>
    T* take(int64_t count) {
      return static_cast<T*>(workspace_.take(count * static_cast<int64_t>(sizeof(T))));
    }

   private:
    Workspace& workspace_;
    size_t block_ = 0;
    int64_t used_ = 0;
  };

 private:
  void* take(int64_t bytes);
  // The memory to take from: what is borrowed, then the own blocks.
  size_t places() const { return blocks_.size() + 1; }
  Part place(size_t i) const;
  // Replaces several own blocks, if they were needed before, by one of their total size.
  void join_blocks();

  std::shared_ptr<Device> device_;
  Part borrowed_;
  std::vector<Memory> blocks_;
  size_t block_ = 0;  // the place in use
  int64_t used_ = 0;  // its bytes in use
  int64_t most_used_ = 0;
  int depth_ = 0;
  bool measuring_ = false;
};

class Context {
 public:
  // The processor, with at least 1 thread. threads() is less where OpenMP starts fewer
  // (OMP_THREAD_LIMIT). Errors: kDevice when the system cannot start so many.
  explicit Context(int threads);

  // Another device; one thread of the host requests its work.
  explicit Context(std::shared_ptr<Device> device);

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device& device() { return *device_; }
  bool on_host() const { return on_host_; }
  int threads() const { return threads_; }
  Workspace& workspace() { return workspace_; }
  Memory allocate(int64_t bytes) { return Memory(device_, bytes); }
  const MemoryStatistics& memory() const { return device_->memory(); }

  DeviceCounters& counters() { return counters_; }
  const DeviceCounters& counters() const { return counters_; }

  // Where operations record their time; null (the default): nowhere. It must outlive what runs.
  Profile* profile() const { return profile_; }
  void set_profile(Profile* profile) { profile_ = profile; }

  // A context for one thread inside a loop that is shared among threads: it has its own
  // counters, its scratch memory begins with a share of what is left of this context's, and its
  // operations run on the calling thread. `thread` is in [0, threads()).
  Context& lane(int thread) { return *lanes_[static_cast<size_t>(thread)]; }
  // Before such a loop.
  void begin_lanes();
  // After it: adds the counters of the lanes to those of this context, and when measuring, what all
  // lanes need if each needs what the first one took.
  void end_lanes();
  bool is_lane() const { return is_lane_; }

  // While true, operations compute nothing: they only take scratch memory and count.
  bool measuring() const { return measuring_; }

  // Calls work() while measuring, and reserves the scratch memory that it takes. Counters keep
  // their values. Errors: kInternal inside an operation.
  template <class Work>
  void reserve_scratch(Work&& work) {
    const Measurement measurement(*this);
    work();
  }

 private:
  struct Lane {};
  Context(const Context& parent, Lane);

  // Measures for the duration of a scope, and reserves at its end.
  class Measurement {
   public:
    explicit Measurement(Context& context);
    Measurement(const Measurement&) = delete;
    Measurement& operator=(const Measurement&) = delete;
    ~Measurement() noexcept(false);

   private:
    Context& context_;
    DeviceCounters counters_;
    int exceptions_;
  };
  void set_measuring(bool measuring);

  std::shared_ptr<Device> device_;
  bool on_host_;
  int threads_;
  bool is_lane_ = false;
  bool measuring_ = false;
  Workspace workspace_;
  DeviceCounters counters_;
  Profile* profile_ = nullptr;
  std::vector<std::unique_ptr<Context>> lanes_;
};

}  // namespace saddle::backend
