// Fake Slurm commands whose answers a test plants: shell scripts in a folder at the head of PATH.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "support/temporary_directory.h"

namespace saddle::cluster {

class FakeSlurm {
 public:
  // squeue and sacct know nothing, sinfo has one partition of three days, and sbatch gives the ids
  // 101, 102, ... Each call is a line of the file "calls".
  FakeSlurm() : path_(std::getenv("PATH")) {
    answer("squeue", "");
    answer("sacct", "");
    answer("sinfo", "echo 'small*|3-00:00:00|.'");
    answer("sbatch", kNumbering);
    answer("scontrol", "");
    ::setenv("PATH", (directory_.path().string() + ":" + path_).c_str(), 1);
    ::setenv("SADDLE_SLURM_SITE", "/dev/null", 1);
  }
  FakeSlurm(const FakeSlurm&) = delete;
  FakeSlurm& operator=(const FakeSlurm&) = delete;
  ~FakeSlurm() {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("SADDLE_SLURM_SITE");
  }

  // Sets what the command does, in shell; $here is the folder, and "--version" always succeeds.
  void answer(const std::string& command, const std::string& script) const {
    write_file_atomically(directory_ / command,
                          "#!/bin/bash\nhere='" + directory_.path().string() +
                              "'\n[[ \"$1\" == --version ]] && exit 0\necho \"" + command +
                              " $*\" >>\"$here/calls\"\n" + script + "\n");
    std::filesystem::permissions(directory_ / command, std::filesystem::perms::owner_all);
  }

  Path file(const std::string& name) const { return directory_ / name; }

  int64_t calls(const std::string& command) const {
    int64_t count = 0;
    if (!std::filesystem::exists(directory_ / "calls")) return 0;
    const std::string text = "\n" + read_file(directory_ / "calls");
    const std::string line = "\n" + command + " ";
    for (size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1))
      ++count;
    return count;
  }

  // Prints the next id, and records it with the name of the job in $here/names.
  static constexpr const char* kNumbering =
      "number=$(cat \"$here/number\" 2>/dev/null || echo 100)\n"
      "number=$((number + 1))\n"
      "echo $number >\"$here/number\"\n"
      "for word; do [[ $word == --job-name=* ]] && name=${word#*=}; done\n"
      "echo \"$number $name\" >>\"$here/names\"\n"
      "echo $number";

  // The same, and runs the script at once; squeue and sacct then have forgotten the job.
  static constexpr const char* kRunning =
      "number=$(cat \"$here/number\" 2>/dev/null || echo 100)\n"
      "number=$((number + 1))\n"
      "echo $number >\"$here/number\"\n"
      "SLURM_JOB_ID=$number bash \"${@: -1}\" >\"$here/job-$number.log\" 2>&1\n"
      "echo $number";

  // Rows of sacct for every job, all in one state.
  static std::string accounting(const std::string& state, const std::string& exit_code) {
    return "while read -r number name; do echo \"$number|" + state + "|" + exit_code +
           "|$name|\"; done <\"$here/names\"";
  }

 private:
  std::string path_;
  TemporaryDirectory directory_;
};

}  // namespace saddle::cluster
