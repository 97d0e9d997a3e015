#include "base/process.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "base/clock.h"
#include "support/child_process.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

ProcessResult shell(const std::string& script, const ProcessOptions& options = {}) {
  return run_process({"sh", "-c", script}, options);
}

TEST(Process, GivesOutputErrorsAndExitCode) {
  const ProcessResult result = shell("echo one; echo two >&2; echo three >&2; exit 7");
  EXPECT_EQ(result.output, "one\n");
  EXPECT_EQ(result.errors, "two\nthree\n");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.succeeded());
  EXPECT_EQ(result.last_words(), "three");
  EXPECT_TRUE(shell("exit 0").succeeded());
  EXPECT_EQ(shell("exit 0").last_words(), "it printed nothing");
}

TEST(Process, ReadsMoreThanThePipeBuffer) {
  EXPECT_EQ(shell("head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2").output.size(), 300000U);
}

TEST(Process, RunsInTheDirectoryGivenWithoutInput) {
  const TemporaryDirectory directory;
  const ProcessResult result = shell("pwd; cat", {.directory = directory.path()});
  EXPECT_EQ(result.output, std::filesystem::canonical(directory.path()).string() + "\n");
}

TEST(Process, ReportsTheSignalThatEndedIt) {
  const ProcessResult result = shell("kill -TERM $$");
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_EQ(result.signal, SIGTERM);
}

// The grandchild keeps the pipes open, so it must be killed too.
TEST(Process, IsKilledWithItsDescendantsAtTheTimeLimit) {
  const Stopwatch watch;
  const ProcessResult result = shell("sleep 60 & sleep 60", {.time_limit_seconds = 0.2});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_LT(watch.seconds(), 20);
}

TEST(Process, IsKilledWhenAskedTo) {
  const ProcessResult result = shell("exec >&- 2>&-; sleep 60", {.stop = [] { return true; }});
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.signal, SIGKILL);
}

// The signal is sent once, and only to the program, not to its children.
TEST(Process, ReceivesASignalAndIsWaitedFor) {
  const TemporaryDirectory directory;
  const std::string ready = directory / "ready";
  const ProcessResult result =
      shell("trap 'echo told; told=yes' TERM; (trap 'echo child told' TERM; touch " + ready +
                "; sleep 0.5; echo child done) & while [ -z \"$told\" ]; do sleep 0.01; done; "
                "wait; exit 75",
            {.pass_signal = [&] { return std::filesystem::exists(ready) ? SIGTERM : 0; }});
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(result.output, "told\nchild done\n");
}

// A parent that is killed cannot kill its child. The pipe ends when the child's end of it closes.
TEST(Process, EndsWithItsParent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  {
    const ChildProcess parent([&ends] {
      const int64_t number = this_process();
      const ChildProcess child([&ends, number] {
        end_with_parent(number);
        const bool told = ::write(ends[1], "x", 1) == 1;
        ::sleep(60);
        return told ? 0 : 1;
      });
      ::sleep(60);
      return 0;
    });
    ::close(ends[1]);
    char byte = 0;
    ASSERT_EQ(::read(ends[0], &byte, 1), 1);
    const Stopwatch watch;
    parent.kill(SIGKILL);
    EXPECT_EQ(::read(ends[0], &byte, 1), 0);
    EXPECT_LT(watch.seconds(), 20);
  }
  ::close(ends[0]);
}

TEST(Process, EndsAtOnceIfItsParentHasEnded) {
  ChildProcess child([] {
    end_with_parent(::getpid());  // which is not its parent
    return 0;
  });
  EXPECT_EQ(WTERMSIG(child.wait()), SIGKILL);
}

TEST(Process, WithoutOutputNamesItsSignal) {
  EXPECT_EQ(shell("kill -XFSZ $$").last_words(), "ended by signal 25: File size limit exceeded");
}

// Other programs end when a file grows too large, just as when a shell starts them.
TEST(Process, DoesNotInheritIgnoredSignals) {
  ChildProcess child([] {
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      ::signal(signal, SIG_IGN);
      if (shell("kill -" + std::to_string(signal) + " $$").signal != signal) return 1;
    }
    return 0;
  });
  EXPECT_EQ(child.exit_status(), 0);
}

TEST(Process, RunsAProgramUnderAnotherName) {
  const ProcessResult result = run_process({"name", "-c", "echo $0"}, {.program = "/bin/sh"});
  EXPECT_EQ(result.output, "name\n");
}

TEST(Process, AMissingProgramIsAnError) {
  expect_error(ErrorKind::kDevice, {"'no-such-program'", "not found"},
               [] { run_process({"no-such-program"}, {}); });
}

}  // namespace
}  // namespace saddle
