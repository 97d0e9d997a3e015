// A real one-node Slurm run by the test, and waiting for what happens in it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "support/child_process.h"
#include "support/temporary_directory.h"

namespace saddle::cluster {

class OneNodeSlurm {
 public:
  OneNodeSlurm() {
    if (::pipe2(input_.data(), O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
    const std::string said = directory_ / "said";
    process_.emplace([this, said] {
      ::dup2(input_[0], STDIN_FILENO);
      const std::string command = "exec '" SADDLE_SOURCE_DIR "/tests/slurm/one_node_slurm.sh' '" +
                                  directory_.path().string() + "' >'" + said + "' 2>&1";
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      return 127;
    });
    ::close(input_[0]);
    why_not_ = start(said);
    ::setenv("SLURM_CONF", (directory_ / "slurm.conf").c_str(), 1);
    ::setenv("SADDLE_SLURM_SITE", "/dev/null", 1);
  }
  OneNodeSlurm(const OneNodeSlurm&) = delete;
  OneNodeSlurm& operator=(const OneNodeSlurm&) = delete;
  // The cluster ends when its standard input closes, even if this process is killed.
  ~OneNodeSlurm() {
    ::close(input_[1]);
    process_->wait();
  }

  // Removes the accounting record of a job, as if a site's database had lost it.
  void forget_record(const std::string& id) const {
    const ProcessResult result =
        run_process({"mariadb", "--no-defaults", "--user=root",
                     "--socket=" + (directory_ / "run/my.sock").string(), "slurm_acct_db", "-e",
                     "delete from test_job_table where id_job=" + id},
                    {.time_limit_seconds = 60});
    EXPECT_TRUE(result.succeeded()) << result.last_words();
  }

  // Finished jobs leave the queue after this time; until then it shows their final states.
  void set_memory_of_queue(int64_t seconds) const {
    const Path file = directory_ / "slurm.conf";
    std::string text = read_file(file);
    const std::string before = "MinJobAge=300";
    text.replace(text.find(before), before.size(), "MinJobAge=" + std::to_string(seconds));
    write_file_atomically(file, text);
    EXPECT_TRUE(run_process({"scontrol", "reconfigure"}, {.time_limit_seconds = 60}).succeeded());
  }

  // Empty if the cluster runs.
  const std::string& why_not() const { return why_not_; }

 private:
  static std::string start(const Path& said) {
    const Stopwatch watch;
    while (watch.seconds() < 120) {
      const std::string text = std::filesystem::exists(said) ? read_file(said) : "";
      if (text.find("ready\n") != std::string::npos) return "";
      if (text.starts_with("skip: ") && text.ends_with("\n"))
        return text.substr(6, text.size() - 7);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return "a cluster of one node did not start in 120 s";
  }

  TemporaryDirectory directory_;
  std::array<int, 2> input_{};
  std::optional<ChildProcess> process_;
  std::string why_not_;
};

// The output of a command; the test fails if the command fails.
inline std::string output_of(const std::vector<std::string>& command, const Path& directory = {}) {
  const ProcessResult result =
      run_process(command, {.directory = directory, .time_limit_seconds = 60});
  EXPECT_TRUE(result.succeeded()) << command[0] << ": " << result.last_words();
  return result.output;
}

// Whether the condition became true in time.
inline bool wait_until(const std::function<bool()>& holds, double seconds) {
  const Stopwatch watch;
  while (!holds()) {
    if (watch.seconds() > seconds) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

// The state of a job in the queue, finished ones included.
inline std::string queue_state(const std::string& id) {
  const ProcessResult result =
      run_process({"squeue", "--noheader", "--states=all", "--jobs=" + id, "--format=%T"},
                  {.time_limit_seconds = 60});
  return result.output.substr(0, result.output.find('\n'));
}

// The process of the program whose command line contains `text`, or 0.
inline pid_t find_program(const std::string& text) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    try {
      const std::string line = read_file(entry.path() / "cmdline");
      if (line.starts_with(SADDLE_PROGRAM) && line.find(text) != std::string::npos) {
        return static_cast<pid_t>(std::stol(name));
      }
    } catch (const std::exception&) {
      continue;  // it ended meanwhile
    }
  }
  return 0;
}

}  // namespace saddle::cluster
