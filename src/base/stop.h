// A wish to stop, from SIGINT, SIGTERM, SIGUSR1 or SIGHUP: a flag, which long work looks at between
// its steps; a second signal ends the process at once. A second SIGHUP does not: a terminal that
// goes sends several.
//
// Signals that the process ignored from its start stay ignored: a shell starts background jobs of a
// script without SIGINT, and nohup a program without SIGHUP.
//
// No signal handler runs. oneDNN's float products point the stack register of the calling thread
// into the heap while they run, so that the kernel, when it calls a handler on that thread, writes
// over other memory. The signals are blocked instead, and a thread of its own reads them.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace saddle {

class StopSignals {
 public:
  // To be made before the threads that compute: they inherit the blocked signals. So do child
  // processes, which should be started with an empty mask. The signals stay blocked when the object
  // has gone: then the work is done, and a signal must not make a killed process of a finished one.
  // `parent`, or 0, is a process that passes its own signals on: a system that signals both of them
  // (a cluster that ends a job) asks only once, so one signal from there and one from elsewhere do
  // not yet make a second. One object at a time, else an Error of kind kInternal; kIo when the
  // system refuses.
  explicit StopSignals(int64_t parent = 0);
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // The signal that asked to stop, or 0.
  int requested() const { return requested_; }

 private:
  void watch();

  int64_t parent_;
  std::atomic<int> requested_{0};
  int signals_ = -1;  // a descriptor from which arriving signals are read
  int wake_ = -1;     // a descriptor that ends the thread
  std::jthread watcher_;
};

}  // namespace saddle
