// The program started under odd conditions: without descriptors, with ignored signals, with limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "apps/program_run.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "support/child_process.h"

namespace saddle {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(StartedWithoutDescriptors, TrainingWritesNoLogIntoItsFiles) {
  const ProgramRun run;
  const ProgramResult result = run_saddle(run.words("train") + " <&- >&- 2>&-");
  EXPECT_EQ(result.exit_code, kExitSuccess);
  EXPECT_THAT(read_file(run.file("lock")), Not(HasSubstr("epoch")));
  EXPECT_THAT(read_file(run.file("run.log")), HasSubstr("finished: validation loss"));
  for (const Json& line : train::read_lines(run.file("metrics.jsonl"))) {
    EXPECT_TRUE(line.is_object());
  }
}

// The trainings of a sweep have their own descriptors.
TEST(StartedWithoutDescriptors, ASweepTrainsButFailsToPrintItsTable) {
  const ProgramRun run;
  const Path output = run.directory / "sweep";
  const ProgramResult result =
      run_saddle(run.words("sweep") + " --grid optimizer.lr=0.01 --output " + output.string() +
                 " <&- >&- 2>&-");
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kIo));
  EXPECT_EQ(read_json(output / "summary.json")["rows"][0]["status"], "finished");
  EXPECT_THAT(read_file(output / "logs/settings-lr0.01.log"), HasSubstr("finished: validation"));
}

TEST(StartedWithoutDescriptors, ClosedStandardOutputIsAnError) {
  const ProgramResult result = run_saddle("version >&-");
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kIo));
  EXPECT_THAT(result.errors, HasSubstr("cannot write to standard output: Bad file descriptor"));
}

TEST(StartedWithALimit, AFileOverItsLimitIsLikeAFullDisk) {
  const ProgramRun run;
  const TemporaryDirectory errors;  // the files of run_saddle may not grow either
  const std::string words = run.words("train");
  ChildProcess child([&] {
    const rlimit limit{20480, 20480};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 50;
    const std::string command =
        "exec '" SADDLE_PROGRAM "' " + words + " 2>" + (errors / "errors").string();
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    return 127;
  });
  EXPECT_EQ(child.exit_status(), exit_code(ErrorKind::kIo));
  EXPECT_THAT(read_file(errors / "errors"),
              HasSubstr("File too large (over the limit of this process, ulimit -f"));
}

// A program, started by a shell that ignores a signal.
class Started {
 public:
  Started(const ProgramRun& run, const std::string& before)
      : child_(
            [words = run.words("train"), before, printed = (run.directory / "printed").string()] {
              const std::string command =
                  before + "exec '" SADDLE_PROGRAM "' " + words + " >" + printed + " 2>&1";
              ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
              return 127;
            }) {
    for (const Stopwatch watch;
         !std::filesystem::exists(run.file("metrics.jsonl")) && watch.seconds() < 60;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void kill(int signal) const { child_.kill(signal); }
  bool runs_on() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return ::waitpid(child_.id(), nullptr, WNOHANG) == 0;
  }
  int wait() { return child_.exit_status(); }

 private:
  ChildProcess child_;
};

TEST(StartedWithIgnoredSignals, TheyStayIgnored) {
  for (const auto& [name, number] : {std::pair("INT", SIGINT), std::pair("HUP", SIGHUP)}) {
    ProgramRun run;
    run.make_long();
    Started program(run, fmt::format("trap '' {}; ", name));
    program.kill(number);
    program.kill(number);
    EXPECT_TRUE(program.runs_on()) << name;
    program.kill(SIGTERM);
    EXPECT_EQ(program.wait(), kExitStopped) << read_file(run.directory / "printed");
    EXPECT_THAT(read_file(run.directory / "printed"), HasSubstr("signal 15"));
  }
}

TEST(StartedWithATerminal, ClosingItStopsTraining) {
  ProgramRun run;
  run.make_long();
  Started program(run, "");
  for (int i = 0; i < 3; ++i) program.kill(SIGHUP);
  EXPECT_EQ(program.wait(), kExitStopped) << read_file(run.directory / "printed");
  EXPECT_TRUE(std::filesystem::exists(run.file("latest.state.safetensors")));
}

// Another user, because the system does not limit the number of root's processes.
class AnotherUser {
 public:
  AnotherUser() : user_(50000 + ::getpid() % 10000) {
    std::filesystem::copy_file(SADDLE_PROGRAM, directory_ / "saddle");
    own(directory_.path());
  }

  // Nothing if the tests do not run as root, or if this user cannot run the program.
  std::optional<ProgramResult> run(int processes, const ProgramRun& run, const std::string& words) {
    if (::geteuid() != 0) return std::nullopt;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(run.directory.path())) {
      own(entry.path());
    }
    own(run.directory.path());
    const auto start = [&](const std::string& arguments, rlim_t limit) {
      ChildProcess child([&] {
        const rlimit both{limit, limit};
        if (::chdir("/") != 0 || ::setrlimit(RLIMIT_NPROC, &both) != 0) return 50;
        if (::setgid(user_) != 0 || ::setuid(user_) != 0) return 50;
        // The check for leaks of the address sanitizer would start a thread of its own.
        const std::string command = "export ASAN_OPTIONS=detect_leaks=0; exec '" +
                                    (directory_ / "saddle").string() + "' " + arguments + " >" +
                                    (directory_ / "output").string() + " 2>" +
                                    (directory_ / "errors").string();
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        return 127;
      });
      return child.exit_status();
    };
    if (start("version", 100) != 0) return std::nullopt;
    ProgramResult result;
    result.exit_code = start(words, static_cast<rlim_t>(processes));
    result.output = read_file(directory_ / "output");
    result.errors = read_file(directory_ / "errors");
    return result;
  }

 private:
  void own(const Path& path) const {
    if (::chown(path.c_str(), user_, user_) != 0) ADD_FAILURE() << "cannot chown " << path;
  }

  TemporaryDirectory directory_;
  uid_t user_;
};

TEST(StartedWithALimit, ThreadsThatCannotStartAreAnError) {
  ProgramRun run;
  run.settings.runtime.threads = 16;
  AnotherUser user;
  const auto few = user.run(8, run, run.words("train"));
  if (!few) GTEST_SKIP() << "another user cannot run the program";
  EXPECT_EQ(few->exit_code, exit_code(ErrorKind::kDevice)) << few->errors;
  EXPECT_THAT(few->errors, MatchesRegex("saddle: error: cannot start 16 computing threads: "
                                        "Resource temporarily unavailable .*; at most 5 can start "
                                        "here now: [^\n]*\n"));
  // The program itself has no thread to spare.
  const auto none = user.run(1, run, run.words("train"));
  EXPECT_EQ(none->exit_code, exit_code(ErrorKind::kIo)) << none->errors;
  EXPECT_THAT(none->errors, MatchesRegex("saddle: error: cannot start a thread for [^\n]*\n"));
  const auto tokenizer =
      user.run(1, run,
               "tokenizer train --vocab-size 300 --input /etc/hostname --output " +
                   (run.directory / "model").string());
  EXPECT_EQ(tokenizer->exit_code, exit_code(ErrorKind::kIo)) << tokenizer->errors;
  EXPECT_THAT(tokenizer->errors, HasSubstr("cannot start a thread for SentencePiece: "));
  run.settings.runtime.threads = 2;
  const auto enough = user.run(20, run, run.words("train"));
  EXPECT_EQ(enough->exit_code, kExitSuccess) << enough->errors;
}

}  // namespace
}  // namespace saddle
