// The emulated device: its memory, the queues of work and what is wrong. The functions of CUDA's
// API (api_*.cpp, products_*.cpp) are calls of it.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "emulated/control.h"
#include "runtime/memory.h"
#include "runtime/status.h"

namespace emulated {

// A kernel, a copy, a product: done when the host waits for it.
struct Operation {
  std::function<Status()> run;
  Counters counts;
};

// What an event stands for. Shared with the queued operations that complete it or wait for it.
struct EventState {
  CUstream_st* stream = nullptr;  // in which it was last recorded
  uint64_t recorded = 0;          // how often it was
  uint64_t completed = 0;         // the last of them that was reached
  std::chrono::steady_clock::time_point when;
};

}  // namespace emulated

struct CUstream_st {
  struct Queued {
    emulated::Operation operation;
    uint64_t number;  // in the order of queueing, over all streams
  };
  std::deque<Queued> queue;
  bool follows_default = true;  // created without cudaStreamNonBlocking
  bool destroyed = false;       // but not empty yet
  bool capturing = false;
  bool capture_broken = false;
  std::vector<emulated::Operation> captured;
};

struct CUevent_st {
  std::shared_ptr<emulated::EventState> state = std::make_shared<emulated::EventState>();
  bool timed = true;
};

struct CUgraph_st {
  std::vector<emulated::Operation> operations;
};

struct CUgraphExec_st {
  std::shared_ptr<const std::vector<emulated::Operation>> operations;
  emulated::Counters counts;
};

namespace emulated {

class Device {
 public:
  Device();

  // Calls `function(*this)`, which returns a Status, and keeps why it failed. After a failure of
  // the device every call returns that failure.
  template <class Function>
  cudaError_t call(Function function);
  // The same for a call that CUDA forbids while a stream captures.
  template <class Function>
  cudaError_t call_outside_capture(const char* name, Function function);

  Status queue(cudaStream_t stream, Operation operation);

  // Each runs queued operations until what the host waits for is done.
  Status finish(cudaStream_t stream);
  Status finish(const EventState& event);
  Status finish_all();
  // One step of a stream that the host asks about; cudaErrorNotReady if there is more.
  Status advance(cudaStream_t stream);

  // Null stands for the default stream; anything else must have been created.
  Status find(cudaStream_t stream, CUstream_st** found);
  CUstream_st* create_stream(bool follows_default);
  Status destroy(cudaStream_t stream);

  Status record(cudaStream_t stream, std::shared_ptr<EventState> event);
  Status wait(cudaStream_t stream, std::shared_ptr<EventState> event);

  Status begin_capture(cudaStream_t stream);
  Status end_capture(cudaStream_t stream, std::vector<Operation>* operations);
  bool captures() const;

  void reset();

  std::recursive_mutex mutex;
  DeviceMemory memory;
  Counters counters;
  uint64_t order = 0;
  std::map<const void*, size_t> pinned;       // from cudaHostAlloc, with sizes
  std::set<cudaEvent_t> events;               // that exist
  std::map<const void*, int> dynamic_shared;  // that kernels may ask for
  cudaError_t last_error = cudaSuccess;
  std::string why;                     // the last refusal or failure, for control.h
  cudaError_t why_code = cudaSuccess;  // and its code, if it was one of the runtime
  Status failure;                      // of the device, permanent

 private:
  template <class Function>
  cudaError_t locked(Function function);
  Status refusal_while_capturing(const char* name);
  Status run_next(CUstream_st& stream);
  Status run_before(CUstream_st& stream, uint64_t number);
  Status run_while(CUstream_st& stream, const std::function<bool()>& needed);
  bool is_idle() const;
  Status check_damage();
  void drop_work();

  CUstream_st default_stream_;
  std::list<CUstream_st> streams_;
  uint64_t queued_ = 0;
};

// CUDA's API is global, so what carries it out is.
Device& device();

template <class Function>
cudaError_t Device::locked(Function function) {
  Status status = failure;
  if (status.ok()) status = function(*this);
  if (!status.ok() && status.code != cudaErrorNotReady) {
    last_error = why_code = status.code;
    why = status.why;
  }
  return status.code;
}

template <class Function>
cudaError_t Device::call(Function function) {
  const std::lock_guard lock(mutex);
  return locked(function);
}

template <class Function>
cudaError_t Device::call_outside_capture(const char* name, Function function) {
  const std::lock_guard lock(mutex);
  return locked([&](Device& self) {
    Status status = refusal_while_capturing(name);
    return status.ok() ? function(self) : status;
  });
}

}  // namespace emulated
