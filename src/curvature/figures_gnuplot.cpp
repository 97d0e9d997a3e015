#include "curvature/figures_gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/system_error.h"

namespace saddle::curvature {
namespace {

constexpr const char* kProgram = "gnuplot";

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

struct SpawnSetup {
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

// Starts it with its output leading to `output`, and with the signals as a shell would give them.
pid_t start(const Path& directory, const std::vector<std::string>& arguments, int output) {
  SpawnSetup setup;
  ::posix_spawn_file_actions_addchdir_np(&setup.actions, directory.c_str());
  ::posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&setup.actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&setup.actions, output, STDERR_FILENO);
  sigset_t none, ignored;
  ::sigemptyset(&none);
  ::sigemptyset(&ignored);
  ::sigaddset(&ignored, SIGPIPE);
  ::posix_spawnattr_setsigmask(&setup.attributes, &none);
  ::posix_spawnattr_setsigdefault(&setup.attributes, &ignored);
  ::posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> words{kProgram};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int code =
      ::posix_spawnp(&child, kProgram, &setup.actions, &setup.attributes, pointers.data(), environ);
  if (code == ENOENT) {
    fail(ErrorKind::kDevice,
         "gnuplot, which draws the figures, was not found: install the package gnuplot-nox");
  }
  if (code != 0) fail_system("start", kProgram, code);
  return child;
}

std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t got =
        retry_interrupted([&] { return ::read(descriptor, piece.data(), piece.size()); });
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<size_t>(got));
  }
}

// On one line.
std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \n\t");
  if (end == std::string::npos) return "it said nothing";
  const size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

void run_gnuplot(const Path& directory, const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_system("make", "a pipe");
  Descriptor reader(ends[0]), writer(ends[1]);
  const pid_t child = start(directory, arguments, writer.number());
  writer.close();
  const std::string said = read_to_end(reader.number());
  int status = 0;
  if (retry_interrupted([&] { return ::waitpid(child, &status, 0); }) < 0) {
    fail_system("wait for", kProgram);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  fail(ErrorKind::kDevice, "gnuplot failed in '{}' ({} {}): {}", directory.string(),
       WIFEXITED(status) ? "exit code" : "signal",
       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), last_line(said));
}

}  // namespace saddle::curvature
