#include "base/threads.h"

#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <latch>
#include <limits>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace saddle {
namespace {

// Threads besides those that compute: the reader of the data, and telemetry.
constexpr int kOtherThreads = 2;
constexpr const char* kLimits = "see ulimit -u, and pids.max of the control group";

// The stack size of OpenMP's threads (OpenMP 5.2, 21.2.2), in bytes; 0: the system's default.
size_t openmp_stack_bytes() {
  std::string text = environment_variable("OMP_STACKSIZE");
  if (text.empty()) text = environment_variable("GOMP_STACKSIZE");
  std::istringstream words(text);
  uint64_t count = 0;
  char unit = 'K';
  if (!(words >> count)) return 0;
  words >> unit;
  const size_t place = std::string_view("BKMGbkmg").find(unit);
  if (place == std::string_view::npos) return 0;
  const auto shift = static_cast<unsigned>(place % 4 * 10);
  if (count > std::numeric_limits<size_t>::max() >> shift) return 0;
  return count << shift;
}

// Attributes of a thread as OpenMP sets them.
class ThreadAttributes {
 public:
  ThreadAttributes() {
    ::pthread_attr_init(&attributes_);
    // OpenMP also ignores a size that the system refuses.
    if (const size_t bytes = openmp_stack_bytes(); bytes > 0) {
      ::pthread_attr_setstacksize(&attributes_, bytes);
    }
  }
  ThreadAttributes(const ThreadAttributes&) = delete;
  ThreadAttributes& operator=(const ThreadAttributes&) = delete;
  ~ThreadAttributes() { ::pthread_attr_destroy(&attributes_); }
  const pthread_attr_t* get() const { return &attributes_; }

 private:
  pthread_attr_t attributes_{};
};

void* wait_for(void* latch) {
  static_cast<std::latch*>(latch)->wait();
  return nullptr;
}

}  // namespace

std::jthread start_thread(std::string_view what, std::function<void(const std::stop_token&)> work) {
  try {
    return std::jthread(std::move(work));
  } catch (const std::system_error& error) {
    fail(ErrorKind::kIo, "cannot start a thread for {}: {} ({})", what, error.code().message(),
         kLimits);
  }
}

void check_threads_start(int threads) {
  if (threads <= 1) return;
  const size_t wanted = static_cast<size_t>(threads) - 1 + kOtherThreads;
  const ThreadAttributes attributes;
  std::latch checked(1);
  std::vector<pthread_t> started;
  started.reserve(wanted);
  int code = 0;
  while (started.size() < wanted && code == 0) {
    pthread_t thread{};
    code = ::pthread_create(&thread, attributes.get(), wait_for, &checked);
    if (code == 0) started.push_back(thread);
  }
  checked.count_down();
  for (const pthread_t thread : started) ::pthread_join(thread, nullptr);
  if (code == 0) return;
  const int most = std::max(1, static_cast<int>(started.size()) + 1 - kOtherThreads);
  fail(ErrorKind::kDevice,
       "cannot start {} computing threads: {} ({}); at most {} can start here now: set "
       "runtime.threads, or --threads, to that",
       threads, std::generic_category().message(code), kLimits, most);
}

}  // namespace saddle
