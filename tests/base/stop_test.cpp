#include "base/stop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/clock.h"
#include "support/child_process.h"
#include "support/expect_error.h"

namespace saddle {
namespace {

// Sends a signal to this process and waits until it is noticed.
int send(const StopSignals& stop, int signal) {
  ::kill(::getpid(), signal);
  for (const Stopwatch watch; stop.requested() == 0 && watch.seconds() < 20;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return stop.requested();
}

TEST(StopSignals, OneSignalSetsTheFlag) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    ChildProcess child([signal] {
      const StopSignals stop;
      return stop.requested() == 0 && send(stop, signal) == signal ? 0 : 1;
    });
    EXPECT_EQ(child.exit_status(), 0) << signal;
  }
}

// As when a shell starts background jobs of a script, or nohup starts a program.
TEST(StopSignals, WhatWasIgnoredStaysIgnored) {
  for (const int ignored : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    ChildProcess child([ignored] {
      ::signal(ignored, SIG_IGN);
      const StopSignals stop;
      for (int i = 0; i < 3; ++i) ::kill(::getpid(), ignored);
      const int other = ignored == SIGTERM ? SIGINT : SIGTERM;
      return send(stop, other) == other ? 0 : 1;
    });
    EXPECT_EQ(child.exit_status(), 0) << ignored;
  }
}

// The system, the shell and the end of the shell each send a SIGHUP.
TEST(StopSignals, AClosingTerminalIsOneRequest) {
  ChildProcess child([] {
    const StopSignals stop;
    if (send(stop, SIGHUP) != SIGHUP) return 1;
    for (int i = 0; i < 3; ++i) {
      ::kill(::getpid(), SIGHUP);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return 0;
  });
  EXPECT_EQ(child.exit_status(), 0);
}

TEST(StopSignals, OnlyOneObjectAtATime) {
  const StopSignals stop;
  expect_error(ErrorKind::kInternal, {"installed twice"}, [] { StopSignals(); });
  EXPECT_EQ(send(stop, SIGTERM), SIGTERM);
}

TEST(StopSignals, ASignalAfterTheWorkChangesNothing) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    ChildProcess child([signal] {
      { const StopSignals stop; }
      ::kill(::getpid(), signal);
      ::kill(::getpid(), signal);
      return 3;
    });
    EXPECT_EQ(child.exit_status(), 3);
  }
}

TEST(StopSignals, TheSecondSignalEndsTheProcess) {
  for (const int second : {SIGTERM, SIGINT}) {
    ChildProcess child([second] {
      const StopSignals stop;
      if (send(stop, SIGTERM) != SIGTERM) return 1;
      ::kill(::getpid(), second);
      ::sleep(20);
      return 2;
    });
    const int status = child.wait();
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), second);
  }
}

// A cluster that ends a job signals all its processes, and the parent forwards its signal.
TEST(StopSignals, ASignalForwardedByTheParentIsNotASecondOne) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ChildProcess child([&ends] {
    const StopSignals stop(::getppid());
    send(stop, SIGTERM);
    const char byte = 'x';
    if (::write(ends[1], &byte, 1) != 1) return 1;
    ::sleep(20);
    return 2;
  });
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  child.kill(SIGUSR1);  // from this process, which is the parent
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(::waitpid(child.id(), nullptr, WNOHANG), 0) << "it should still be running";
  child.kill(SIGTERM);  // the same signal could merge with one that was not read yet
  EXPECT_EQ(WTERMSIG(child.wait()), SIGTERM);
  ::close(ends[0]);
  ::close(ends[1]);
}

// A handler on such a thread could overwrite memory: see base/stop.h.
TEST(StopSignals, NoSignalReachesAThreadThatComputes) {
  ChildProcess child([] {
    const StopSignals stop;
    int open = 0;
    std::thread computing([&open] {
      sigset_t mask;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
        open += ::sigismember(&mask, signal) == 1 ? 0 : 1;
      }
    });
    computing.join();
    return open;
  });
  EXPECT_EQ(child.exit_status(), 0);
}

}  // namespace
}  // namespace saddle
