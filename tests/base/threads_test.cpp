#include "base/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "support/child_process.h"
#include "support/expect_error.h"

namespace saddle {
namespace {

TEST(Threads, RunTheirWork) {
  std::atomic<bool> ran{false};
  {
    const std::jthread thread =
        start_thread("a test", [&ran](const std::stop_token&) { ran = true; });
  }
  EXPECT_TRUE(ran);
}

TEST(Threads, StartingIsNotAnError) {
  check_threads_start(1);
  check_threads_start(8);
}

// Limits the address space of this process to a few stacks of 256 MiB; 0 if the check fails as it
// should.
int refuse_threads() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = static_cast<rlim_t>(pages) * 4096 + (rlim_t{1} << 30);
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) return 50;
  ::setenv("OMP_STACKSIZE", "256m", 1);
  try {
    check_threads_start(64);
    return 1;
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.kind() != ErrorKind::kDevice) return 3;
    if (message.find("cannot start 64 computing threads") == std::string::npos) return 4;
    const bool bound = message.find("at most 1 can") != std::string::npos ||
                       message.find("at most 2 can") != std::string::npos;
    return bound ? 0 : 5;
  }
}

TEST(Threads, TheErrorNamesHowManyCanStart) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the whole address space";
#endif
  ChildProcess child(refuse_threads);
  EXPECT_EQ(child.exit_status(), 0);
}

TEST(Threads, TheErrorNamesWhatTheThreadIsFor) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the whole address space";
#endif
  ChildProcess child([] {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto bytes = static_cast<rlim_t>(pages) * 4096 + (rlim_t{1} << 20);
    const rlimit limit{bytes, bytes};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return 50;
    std::vector<std::jthread> threads;  // more than the number of cached stacks
    try {
      while (threads.size() < 64) {
        threads.push_back(start_thread("a test", [](const std::stop_token& stop) {
          while (!stop.stop_requested()) std::this_thread::yield();
        }));
      }
      return 1;
    } catch (const Error& error) {
      const std::string message = error.what();
      return error.kind() == ErrorKind::kIo && message.find("for a test") != std::string::npos ? 0
                                                                                               : 2;
    }
  });
  EXPECT_EQ(child.exit_status(), 0);
}

}  // namespace
}  // namespace saddle
