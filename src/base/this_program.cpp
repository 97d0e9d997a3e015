#include "base/this_program.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/sha256.h"

namespace saddle {

ProcessResult run_this_program(const std::vector<std::string>& words, ProcessOptions options) {
  std::vector<std::string> command = {"saddle"};
  command.insert(command.end(), words.begin(), words.end());
  options.program = kRunningProgram;
  return run_process(command, options);
}

bool is_this_program(const Path& path) {
  std::error_code error;
  if (std::filesystem::equivalent(path, kRunningProgram, error)) return true;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  try {
    return sha256_file(path) == sha256_file(kRunningProgram);
  } catch (const Error&) {
    return false;  // it cannot be read
  }
}

Path path_of_this_program() {
  constexpr std::string_view kDeleted = " (deleted)";  // what the system adds to such a path
  std::string path = std::filesystem::read_symlink(kRunningProgram).string();
  if (is_this_program(path)) return path;
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  if (is_this_program(path)) return path;
  fail(ErrorKind::kConfig,
       "'{}' was replaced or removed while this program ran: jobs would run a different one; run "
       "the command again",
       path);
}

}  // namespace saddle
