#include "base/stop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "support/child_process.h"
#include "support/expect_error.h"

namespace saddle {
namespace {

TEST(StopSignals, OneSignalSetsTheFlag) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    const StopSignals stop;
    EXPECT_EQ(stop.requested(), 0);
    ::raise(signal);
    EXPECT_EQ(stop.requested(), signal);
  }
}

TEST(StopSignals, OnlyOneObjectAtATime) {
  const StopSignals stop;
  expect_error(ErrorKind::kInternal, {"installed twice"}, [] { StopSignals(); });
  ::raise(SIGTERM);
  EXPECT_EQ(stop.requested(), SIGTERM);
}

TEST(StopSignals, RestoresWhatWasThere) {
  const auto before = ::signal(SIGTERM, SIG_IGN);
  { const StopSignals stop; }
  EXPECT_EQ(::signal(SIGTERM, before), SIG_IGN);
}

TEST(StopSignals, TheSecondSignalEndsTheProcess) {
  for (const int second : {SIGTERM, SIGINT}) {
    ChildProcess child([second] {
      const StopSignals stop;
      ::raise(SIGTERM);
      if (stop.requested() != SIGTERM) return 1;
      ::raise(second);
      return 2;
    });
    const int status = child.wait();
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), second);
  }
}

TEST(StopSignals, CallsThatWaitAreInterrupted) {
  ChildProcess child([] {
    const StopSignals stop;
    int ends[2];
    if (::pipe(ends) < 0) return 1;
    // An alarm with the same handler comes while read() waits for a byte that never arrives.
    struct sigaction action {};
    ::sigaction(SIGUSR1, nullptr, &action);
    if ((action.sa_flags & SA_RESTART) != 0) return 2;
    ::sigaction(SIGALRM, &action, nullptr);
    ::ualarm(20000, 0);
    char byte = 0;
    if (::read(ends[0], &byte, 1) != -1 || errno != EINTR) return 3;
    return stop.requested() == SIGALRM ? 0 : 4;
  });
  EXPECT_EQ(child.exit_status(), 0);
}

}  // namespace
}  // namespace saddle
