#include "base/stop.h"

#include <unistd.h>

#include <atomic>
#include <iterator>

#include "base/error.h"

namespace saddle {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};

// A signal handler gets no argument of ours, so what it sets must lie in a variable of the file.
std::atomic<int> requested_signal{0};
std::atomic<bool> handlers_installed{false};
static_assert(std::atomic<int>::is_always_lock_free, "a handler may only use lock-free atomics");

extern "C" void on_stop_signal(int signal) {
  if (requested_signal.exchange(signal) == 0) return;
  // The second one: it is blocked while this handler runs, and ends the process on its return.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

StopSignals::StopSignals() {
  static_assert(std::size(kSignals) == std::extent_v<decltype(previous_)>);
  if (handlers_installed.exchange(true)) {
    fail(ErrorKind::kInternal, "the handlers of stop signals are installed twice");
  }
  requested_signal = 0;
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  // No SA_RESTART: a call that waits comes back and lets the flag be seen. The other signals wait
  // while one is handled.
  ::sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) ::sigaddset(&action.sa_mask, signal);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &action, &previous_[i]);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &previous_[i], nullptr);
  }
  handlers_installed = false;
}

int StopSignals::requested() const {
  return requested_signal;
}

}  // namespace saddle
