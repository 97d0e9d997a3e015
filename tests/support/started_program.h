// The program running alongside the test, to be killed, signalled or waited for.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/files.h"
#include "support/child_process.h"
#include "support/temporary_directory.h"

namespace saddle {

class StartedProgram {
 public:
  // `arguments` as typed in a shell after "saddle".
  explicit StartedProgram(const std::string& arguments)
      : printed_(directory_ / "printed"),
        process_(
            [command = "exec '" SADDLE_PROGRAM "' " + arguments + " >'" + printed_ + "' 2>&1"] {
              ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
              return 127;
            }) {}

  void kill(int signal) const { process_.kill(signal); }
  // The exit code, or -1 if a signal ended it.
  int wait() { return process_.exit_status(); }
  // What it has written to either output; empty if it was killed before the program started.
  std::string printed() const {
    return std::filesystem::exists(printed_) ? read_file(printed_) : "";
  }

 private:
  TemporaryDirectory directory_;
  std::string printed_;
  ChildProcess process_;
};

}  // namespace saddle
