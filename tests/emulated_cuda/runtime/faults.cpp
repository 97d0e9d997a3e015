#include "runtime/faults.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "runtime/block.h"

#if defined(SADDLE_THREAD_SANITIZER)
// The handler below makes text, which is fine for a process that dies.
extern "C" const char* __tsan_default_options() {
  return "report_signal_unsafe=0";
}
#endif

namespace emulated {
namespace {

// Signal handlers are global.
const DeviceMemory* explained = nullptr;
struct sigaction before_segv;
struct sigaction before_bus;

std::string explanation(const void* address) {
  const std::string thread = running_thread();
  if (is_stack_overflow(address)) return fmt::format("{}: its stack is full", thread);
  if (!explained->owns(address)) return {};
  const std::string where = explained->describe(address);
  if (!explained->is_open()) return "host code accesses device memory: " + where;
  return (thread.empty() ? "a copy or a product" : thread) + " accesses " + where;
}

void handle(int signal, siginfo_t* info, void*) {
  const std::string text = explanation(info->si_addr);
  if (!text.empty()) {
    const std::string line = "emulated CUDA: " + text + "\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  }
  // The access is repeated and meets the handler there was before.
  sigaction(signal, signal == SIGBUS ? &before_bus : &before_segv, nullptr);
}

}  // namespace

void explain_faults(const DeviceMemory& memory) {
  explained = &memory;
  stack_t present{};
  sigaltstack(nullptr, &present);
  if ((present.ss_flags & SS_DISABLE) != 0) {  // a handler cannot run on a full stack
    static char stack[64 << 10];
    stack_t own{};
    own.ss_sp = stack;
    own.ss_size = sizeof(stack);
    sigaltstack(&own, nullptr);
  }
  struct sigaction action {};
  action.sa_sigaction = &handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
}

}  // namespace emulated
