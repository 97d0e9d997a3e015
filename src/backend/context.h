// The context in which an operation runs: the threads it may use, scratch memory, and a record of
// device memory. Backends (src/backend/cpu, later a GPU) implement the same names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/gemm_choices.h"
#include "backend/profile.h"

namespace saddle::backend {

// Device memory in use; shared by a context and the memory allocated through it.
struct MemoryStatistics {
  int64_t bytes_now = 0;
  int64_t bytes_peak = 0;
  int64_t allocations = 0;  // ever made
};

// A block of device memory, aligned to 64 bytes and filled with zero bytes.
class Memory {
 public:
  Memory() = default;
  Memory(std::shared_ptr<MemoryStatistics> statistics, int64_t bytes);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  void* get() const { return address_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<MemoryStatistics> statistics_;
  void* address_ = nullptr;
  int64_t bytes_ = 0;
};

// Scratch memory for the duration of one operation. It grows to the total size requested and
// then stays, so that repeated work allocates nothing.
class Workspace {
 public:
  explicit Workspace(std::shared_ptr<MemoryStatistics> statistics);

  // Makes sure that `bytes` can be taken without an allocation.
  void reserve(int64_t bytes);

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
  // Replaces several blocks, if they were needed before, by one of their total size.
  void join_blocks();

  std::shared_ptr<MemoryStatistics> statistics_;
  std::vector<Memory> blocks_;
  size_t block_ = 0;  // the block in use
  int64_t used_ = 0;  // its bytes in use
  int depth_ = 0;
};

// Counts of the work done with a context; only records use them.
struct WorkCounters {
  int64_t updates = 0;
  int64_t profiled_updates = 0;  // among them
  int64_t evaluations = 0;
  int64_t checkpoints = 0;  // states written
};

class Context {
 public:
  // threads: at least 1. threads() is less where OpenMP starts fewer (OMP_THREAD_LIMIT).
  // Errors: kDevice when the system cannot start so many.
  explicit Context(int threads);

  int threads() const { return threads_; }
  Workspace& workspace() { return workspace_; }
  Memory allocate(int64_t bytes) { return Memory(statistics_, bytes); }
  const MemoryStatistics& memory() const { return *statistics_; }
  GemmChoices& gemm_choices() { return gemm_choices_; }
  WorkCounters& counters() { return counters_; }

  // Where operations record their time; null (the default): nowhere. It must outlive what runs.
  Profile* profile() const { return profile_; }
  void set_profile(Profile* profile) { profile_ = profile; }

 private:
  int threads_;
  std::shared_ptr<MemoryStatistics> statistics_;
  Workspace workspace_;
  GemmChoices gemm_choices_;
  WorkCounters counters_;
  Profile* profile_ = nullptr;
};

}  // namespace saddle::backend
