// Runs work in a forked process, for tests of locks, signals and limits.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>

namespace saddle {

class ChildProcess {
 public:
  static constexpr int kThrew = 99;

  // Runs `work`, whose result is the exit status; an exception ends it with kThrew. The process
  // does not ignore signals that ask to stop, even if the tests do.
  template <class Work>
  explicit ChildProcess(Work work) : id_(::fork()) {
    if (id_ != 0) return;
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) ::signal(signal, SIG_DFL);
    int status = kThrew;
    try {
      status = work();
    } catch (const std::exception&) {
    }
    ::_exit(status);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    if (id_ <= 0) return;
    kill(SIGKILL);
    wait();
  }

  pid_t id() const { return id_; }
  void kill(int signal) const { ::kill(id_, signal); }

  // The status as in waitpid(2), after the process has ended.
  int wait() {
    int status = -1;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = -1;
    return status;
  }

  // The exit status, or -1 if a signal ended it.
  int exit_status() {
    const int status = wait();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t id_;
};

}  // namespace saddle
