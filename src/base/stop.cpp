#include "base/stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "base/system_error.h"
#include "base/threads.h"

namespace saddle {
namespace {

// Signals belong to the process: two objects would compete for them.
std::atomic<bool> installed{false};

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Ignored signals are left out: once blocked, they would arrive.
sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    if (!is_ignored(signal)) ::sigaddset(&set, signal);
  }
  return set;
}

// Ends the process as the signal does by default.
void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
}

}  // namespace

StopSignals::StopSignals(int64_t parent) : parent_(parent) {
  if (installed.exchange(true)) {
    fail(ErrorKind::kInternal, "stop signals are installed twice");
  }
  const sigset_t set = stop_signals();
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  try {
    signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
    wake_ = ::eventfd(0, EFD_CLOEXEC);
    if (signals_ < 0 || wake_ < 0) fail_system("watch", "the signals of this process");
    watcher_ = start_thread("the signals of this process", [this](const auto&) { watch(); });
  } catch (const Error&) {
    ::close(signals_);
    ::close(wake_);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    installed = false;
    throw;
  }
}

StopSignals::~StopSignals() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  watcher_.join();
  ::close(signals_);
  ::close(wake_);
  installed = false;
}

void StopSignals::watch() {
  std::array<pollfd, 2> descriptors{{{signals_, POLLIN, 0}, {wake_, POLLIN, 0}}};
  bool from_parent = false, from_elsewhere = false;
  while (true) {
    retry_interrupted([&] { return ::poll(descriptors.data(), descriptors.size(), -1); });
    if (descriptors[1].revents != 0) return;
    signalfd_siginfo info{};
    if (::read(signals_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
    const auto signal = static_cast<int>(info.ssi_signo);
    const bool passed_on = parent_ != 0 && info.ssi_pid == static_cast<uint64_t>(parent_);
    bool& seen = passed_on ? from_parent : from_elsewhere;
    if (seen && signal != SIGHUP) end_by(signal);
    seen = true;
    requested_ = signal;
  }
}

}  // namespace saddle
