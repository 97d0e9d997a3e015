#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

// Redirects standard error to `descriptor` during its lifetime.
class StandardError {
 public:
  explicit StandardError(int descriptor) : saved_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    ::dup2(descriptor, STDERR_FILENO);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;
  ~StandardError() {
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
  }

 private:
  int saved_;
};

// What `work` writes to standard error when that is a file.
template <class Work>
std::string written_to_file(Work work) {
  const TemporaryDirectory directory;
  const int file = ::open((directory / "stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  {
    const StandardError redirected(file);
    work();
  }
  ::close(file);
  return read_file(directory / "stderr");
}

// What `work` writes to standard error when that is a terminal 20 columns wide.
template <class Work>
std::string written_to_terminal(Work work) {
  int master = -1;
  int terminal = -1;
  const winsize size{24, 20, 0, 0};
  if (::openpty(&master, &terminal, nullptr, nullptr, &size) < 0) return "no terminal";
  {
    const StandardError redirected(terminal);
    work();
  }
  std::string text;
  std::array<char, 4096> piece{};
  pollfd ready{master, POLLIN, 0};
  while (::poll(&ready, 1, 0) == 1 && (ready.revents & POLLIN) != 0) {
    const ssize_t got = ::read(master, piece.data(), piece.size());
    if (got <= 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  ::close(terminal);
  ::close(master);
  // The terminal driver puts a return before each newline.
  for (size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST(Log, WritesPlainLinesToStandardError) {
  const std::string text = written_to_file([] {
    Log log;
    log.info("step {} of {}", 1, 2);
    log.warn("the loss is {}", "high");
  });
  EXPECT_EQ(text, "step 1 of 2\nwarning: the loss is high\n");
}

TEST(Log, MessagesStayOneLineWhateverNamesTheyContain) {
  const TemporaryDirectory directory;
  const std::string name = "a\n\x1b[2J\xFF";
  const std::string shown = "a\\x0a\\x1b[2J\\xff";
  const std::string text = written_to_file([&] {
    Log log;
    log.add_file(directory / "run.log");
    log.info("one {}", name);
    log.warn("two {}", name);
    log.progress(fmt::format("three {}", name));
  });
  EXPECT_EQ(text, "one " + shown + "\nwarning: two " + shown + "\nthree " + shown + "\n");
  const auto lines = lines_of(read_file(directory / "run.log"));
  ASSERT_EQ(lines.size(), 2);
  EXPECT_THAT(lines[0], ::testing::EndsWith("one " + shown));
}

TEST(Log, ShowsNoLoginOfAUrl) {
  const TemporaryDirectory directory;
  const std::string text = written_to_file([&] {
    Log log;
    log.add_file(directory / "log");
    log.warn("no answer from https://me:secret@host/x");
    log.progress("http://me:secret@host/y: 1 MB");
  });
  EXPECT_EQ(text, "warning: no answer from https://***@host/x\nhttp://***@host/y: 1 MB\n");
  EXPECT_EQ(read_file(directory / "log").find("secret"), std::string::npos);
}

TEST(Log, AppendsTimedLinesToFiles) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "run.log", "before\n");
  const std::string text = written_to_file([&] {
    Log first = Log::silent();
    first.add_file(directory / "run.log");
    Log log(std::move(first));
    log.info("one");
    log.warn("two");
    log.progress("not for files");
  });
  EXPECT_EQ(text, "");
  const auto lines = lines_of(read_file(directory / "run.log"));
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(lines[0], "before");
  const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z";
  EXPECT_THAT(lines[1], ::testing::MatchesRegex(time + " info    one"));
  EXPECT_THAT(lines[2], ::testing::MatchesRegex(time + " warning two"));
}

TEST(Log, RefusesAFileThatCannotBeOpened) {
  const TemporaryDirectory directory;
  Log log = Log::silent();
  expect_error(ErrorKind::kIo, {(directory / "none" / "run.log").string()},
               [&] { log.add_file(directory / "none" / "run.log"); });
}

TEST(Log, ContinuesWhenTheDiskIsFullAndWarnsOnce) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  const std::string text = written_to_file([] {
    Log log;
    log.add_file("/dev/full");
    log.info("one");
    log.info("two");
  });
  EXPECT_EQ(text, "one\nwarning: cannot write the log '/dev/full': No space left on device\ntwo\n");
}

TEST(Log, ProgressOutsideATerminalIsPlainAndRare) {
  const std::string text = written_to_file([] {
    Log log;
    for (int i = 0; i < 1000; ++i) log.progress(fmt::format("step {}", i));
    log.info("between");
    log.finish_progress();
    log.finish_progress();
  });
  EXPECT_EQ(text, "step 0\nbetween\nstep 999\n");
}

TEST(Log, ProgressOnATerminalRewritesOneLine) {
  const std::string text = written_to_terminal([] {
    Log log;
    log.progress("step 0");
    log.info("between");
    log.progress("step 1");
    log.progress("step 2");
    log.finish_progress();
    log.info("after");
  });
  if (text == "no terminal") GTEST_SKIP() << "no pseudo-terminal can be made here";
  EXPECT_EQ(text,
            "\r\x1b[Kstep 0"
            "\r\x1b[Kbetween\n"
            "\r\x1b[Kstep 1"
            "\r\x1b[Kstep 2\n"
            "after\n");
}

TEST(Log, ProgressOnATerminalComesAtMostTenTimesASecond) {
  double seconds = 0;
  const std::string text = written_to_terminal([&] {
    Log log;
    const Stopwatch watch;
    while (watch.seconds() < 0.35) log.progress("working");
    seconds = watch.seconds();
  });
  if (text == "no terminal") GTEST_SKIP() << "no pseudo-terminal can be made here";
  const auto redraws = std::count(text.begin(), text.end(), '\x1b');
  EXPECT_GE(redraws, 2);
  EXPECT_LE(static_cast<double>(redraws),
            2 + seconds / 0.1);  // the first and the last always appear
  EXPECT_EQ(text.back(), '\n');
}

TEST(Log, ProgressIsCutToTheWidthOfTheTerminal) {
  const std::string text = written_to_terminal([] {
    Log log;
    log.progress("äöü 0123456789012345678901234567890");
  });
  if (text == "no terminal") GTEST_SKIP() << "no pseudo-terminal can be made here";
  EXPECT_EQ(text, "\r\x1b[Käöü 012345678901234\n");  // 19 of 20 columns
}

TEST(Log, LinesOfSeveralThreadsStayWhole) {
  const TemporaryDirectory directory;
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  const std::string text = written_to_file([&] {
    Log log;
    log.add_file(directory / "run.log");
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&log, t] {
        for (int i = 0; i < kLines; ++i)
          log.info("{}", std::string(50, static_cast<char>('a' + t)));
      });
    }
  });
  for (const std::string& all : {text, read_file(directory / "run.log")}) {
    const auto lines = lines_of(all);
    EXPECT_EQ(lines.size(), kThreads * kLines);
    for (const auto& line : lines) {
      ASSERT_GE(line.size(), 50);
      ASSERT_EQ(line.substr(line.size() - 50), std::string(50, line.back()));
    }
  }
}

}  // namespace
}  // namespace saddle
