// Runs the program with output to a pipe that nobody reads.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>
#include <string>

#include "support/child_process.h"

namespace saddle {

// Runs `arguments`, as typed in a shell after "saddle", with `descriptor` (standard output or
// error) connected to such a pipe and the other of the two discarded. Returns the exit code, or -1
// if a signal ended the program.
inline int run_saddle_into_closed_pipe(int descriptor, const std::string& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  ::close(ends[0]);
  const std::string other = descriptor == STDOUT_FILENO ? " 2>/dev/null" : " >/dev/null";
  const std::string command = "exec '" SADDLE_PROGRAM "' " + arguments + other;
  ChildProcess child([&] {
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(ends[1], descriptor);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    return 127;
  });
  ::close(ends[1]);
  return child.exit_status();
}

}  // namespace saddle
