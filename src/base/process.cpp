#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/system_error.h"

namespace saddle {
namespace {

constexpr int kPollMilliseconds = 100;

// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_system("make", "a pipe");
    reader = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
  }
  Descriptor reader, writer;
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

// Starts the command with the signal mask and the dispositions that a shell would set.
pid_t start(std::vector<std::string> command, const ProcessOptions& options, int output,
            int errors) {
  SpawnSetup setup;
  if (!options.directory.empty()) {
    ::posix_spawn_file_actions_addchdir_np(&setup.actions, options.directory.c_str());
  }
  ::posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&setup.actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&setup.actions, errors, STDERR_FILENO);
  sigset_t none, ignored;  // ignored by this program, not by its parent
  ::sigemptyset(&none);
  ::sigemptyset(&ignored);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaddset(&ignored, signal);
  ::posix_spawnattr_setsigmask(&setup.attributes, &none);
  ::posix_spawnattr_setsigdefault(&setup.attributes, &ignored);
  ::posix_spawnattr_setpgroup(&setup.attributes, 0);
  ::posix_spawnattr_setflags(
      &setup.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  const std::string file = options.program.empty() ? command[0] : options.program.string();
  pid_t child = 0;
  const int code = ::posix_spawnp(&child, file.c_str(), &setup.actions, &setup.attributes,
                                  words.data(), environ);
  if (code == ENOENT) {
    fail(ErrorKind::kDevice, "the program '{}' was not found on this machine", file);
  }
  if (code != 0) fail_system("start", file, code);
  return child;
}

// Appends what can be read now. False at the end.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 4096> piece{};
  const ssize_t got =
      retry_interrupted([&] { return ::read(descriptor, piece.data(), piece.size()); });
  if (got > 0) text.append(piece.data(), static_cast<size_t>(got));
  return got > 0;
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \r\n\t");
  if (end == std::string::npos) return "";
  const size_t before = text.find_last_of('\n', end);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end - begin + 1);
}

}  // namespace

std::string ProcessResult::last_words() const {
  for (const std::string& text : {errors, output}) {
    if (const std::string line = last_line(text); !line.empty()) return line;
  }
  if (const char* meaning = ::sigdescr_np(signal); signal != 0 && meaning != nullptr) {
    return fmt::format("ended by signal {}: {}", signal, meaning);
  }
  return "it printed nothing";
}

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  ProcessResult result;
  Pipe output, errors;
  const pid_t child = start(command, options, output.writer.number(), errors.writer.number());
  output.writer.close();
  errors.writer.close();

  const Stopwatch watch;
  std::array<pollfd, 2> readers{pollfd{output.reader.number(), POLLIN, 0},
                                pollfd{errors.reader.number(), POLLIN, 0}};
  int passed = 0;
  const auto kill_when_due = [&] {
    if (passed == 0 && options.pass_signal) {
      passed = options.pass_signal();
      if (passed != 0) ::kill(child, passed);
    }
    if (result.timed_out || result.stopped) return;
    const double limit = options.time_limit_seconds;
    result.timed_out = limit > 0 && watch.seconds() > limit;
    result.stopped = !result.timed_out && options.stop && options.stop();
    if (result.timed_out || result.stopped) ::kill(-child, SIGKILL);
  };
  // poll(2) ignores a negative descriptor.
  while (readers[0].fd >= 0 || readers[1].fd >= 0) {
    ::poll(readers.data(), readers.size(), kPollMilliseconds);
    kill_when_due();
    for (pollfd& reader : readers) {
      std::string& text = &reader == readers.data() ? result.output : result.errors;
      if (reader.revents != 0 && !read_some(reader.fd, text)) reader.fd = -1;
      reader.revents = 0;
    }
  }
  int status = 0;
  while (true) {  // the child may close its output long before it ends
    const pid_t ended = retry_interrupted([&] { return ::waitpid(child, &status, WNOHANG); });
    if (ended < 0) fail_system("wait for", command[0]);
    if (ended == child) break;
    ::poll(nullptr, 0, kPollMilliseconds / 10);
    kill_when_due();
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

void end_with_parent(int64_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail_system("watch", "the parent process");
  if (::getppid() != parent) ::raise(SIGKILL);  // it ended before the request
}

int64_t this_process() {
  return ::getpid();
}

}  // namespace saddle
