// Requests to stop, from SIGINT, SIGTERM, SIGUSR1 or SIGHUP: a flag that long work checks between
// its steps. A second signal ends the process at once, except a second SIGHUP: a terminal that
// closes sends several.
//
// Signals that the process ignored from its start stay ignored: a shell starts the background jobs
// of a script with SIGINT ignored, and nohup starts a program with SIGHUP ignored.
//
// No signal handler runs. While oneDNN's float products run, they point the stack register of the
// calling thread into the heap; a handler that the kernel calls on that thread would overwrite
// other memory. The signals are blocked instead, and a separate thread reads them.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace saddle {

class StopSignals {
 public:
  // To be constructed before the threads that compute: they inherit the blocked signals. So do
  // child processes, which should be started with an empty mask. The signals stay blocked after the
  // destructor: the work is done then, and a late signal must not make a finished process look
  // killed. `parent`, or 0, is a process that forwards its own signals. A cluster that ends a job
  // signals both processes, which is one request: one signal from the parent and one from elsewhere
  // do not count as a second. Only one object at a time, else an Error of kind kInternal; kIo if
  // the system refuses.
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
