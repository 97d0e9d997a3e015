// Other programs as child processes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"

namespace saddle {

struct ProcessOptions {
  Path program{};                 // the file to run; empty: command[0], found along PATH
  Path directory{};               // where it runs; empty: the current directory
  double time_limit_seconds = 0;  // 0: none
  std::function<bool()> stop{};   // called several times a second; true: kill it
  // Likewise; the first signal that is not 0 is sent to the program itself, and run_process()
  // keeps waiting for its end.
  std::function<int()> pass_signal{};
};

struct ProcessResult {
  int exit_code = -1;      // -1: ended by a signal
  int signal = 0;          // that ended the process, or 0
  bool timed_out = false;  // killed because it passed the time limit
  bool stopped = false;    // killed because `stop` returned true
  std::string output;      // what it wrote to standard output
  std::string errors;      // and to standard error

  bool succeeded() const { return exit_code == 0; }
  // The last line of its standard error, or else of its standard output; for messages.
  std::string last_words() const;
};

// Runs command[0], or options.program under that name, with the other words as its arguments,
// without standard input, as the leader of its own process group, and waits for it. Killing it
// kills the whole group. Signals that this process ignored from its start are ignored there too.
// Errors: kDevice if there is no such program; kIo if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options);

// After this call, this process is killed (SIGKILL) when the thread that started it ends, and at
// once if `parent`, the process that started it, has already ended. Errors: kIo.
void end_with_parent(int64_t parent);

// The number of this process, for its children's end_with_parent().
int64_t this_process();

}  // namespace saddle
