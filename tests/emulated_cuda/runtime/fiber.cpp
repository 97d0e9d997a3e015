#include "runtime/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "runtime/sanitizers.h"

namespace emulated {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;

size_t guard_bytes() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Of the switch under way.
Fiber* left = nullptr;
Fiber* entered = nullptr;

}  // namespace

#if defined(__x86_64__) && !defined(SADDLE_EMULATED_UCONTEXT)
// Saves what a called function must keep on the old stack, and takes it from the new one.
extern "C" void saddle_emulated_switch(void** old_stack_pointer, void* new_stack_pointer);
asm(R"(
.text
.p2align 4
.globl saddle_emulated_switch
.type saddle_emulated_switch, @function
saddle_emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size saddle_emulated_switch, .-saddle_emulated_switch
)");
#endif

Fiber::Fiber() {
#if defined(SADDLE_THREAD_SANITIZER)
  thread_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(void (*entry)()) : entry_(entry), size_(kStackBytes) {
  void* memory = mmap(nullptr, guard_bytes() + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    saddle::fail(saddle::ErrorKind::kDevice, "emulated CUDA: no memory for the stack of a thread");
  }
  memory_ = static_cast<char*>(memory);
  mprotect(memory_, guard_bytes(), PROT_NONE);
  bottom_ = memory_ + guard_bytes();
#if defined(SADDLE_THREAD_SANITIZER)
  thread_ = __tsan_create_fiber(0);
#endif
  char* const end = memory_ + guard_bytes() + kStackBytes;
#if defined(__x86_64__) && !defined(SADDLE_EMULATED_UCONTEXT)
  void** top = reinterpret_cast<void**>(end);
  *--top = nullptr;  // where begin() would return to
  *--top = reinterpret_cast<void*>(&Fiber::begin);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  stack_pointer_ = top;
#else
  getcontext(&context_);
  context_.uc_stack.ss_sp = memory_ + guard_bytes();
  context_.uc_stack.ss_size = static_cast<size_t>(end - memory_) - guard_bytes();
  context_.uc_link = nullptr;
  makecontext(&context_, &Fiber::begin, 0);
#endif
}

Fiber::~Fiber() {
  if (memory_ == nullptr) return;
#if defined(SADDLE_THREAD_SANITIZER)
  // Whatever it did comes before what follows, even if it was left in the middle of something.
  void* const here = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread_, __tsan_switch_to_fiber_no_sync);
  __tsan_switch_to_fiber(here, 0);
  __tsan_destroy_fiber(thread_);
#endif
  unpoison(bottom_, size_);
  munmap(memory_, guard_bytes() + kStackBytes);
}

bool Fiber::overflows_at(const void* address) const {
  const char* at = static_cast<const char*>(address);
  return memory_ != nullptr && at >= memory_ && at < memory_ + guard_bytes();
}

void Fiber::switch_to(Fiber& from, Fiber& to) {
  left = &from;
  entered = &to;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.size_);
#endif
#if defined(SADDLE_THREAD_SANITIZER)
  __tsan_switch_to_fiber(to.thread_, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(__x86_64__) && !defined(SADDLE_EMULATED_UCONTEXT)
  saddle_emulated_switch(&from.stack_pointer_, to.stack_pointer_);
#else
  swapcontext(&from.context_, &to.context_);
#endif
  arrive(from);
}

// The bounds of the host's stack become known here, when something has switched away from it.
void Fiber::arrive([[maybe_unused]] Fiber& here) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(here.fake_stack_, &left->bottom_, &left->size_);
#endif
}

void Fiber::begin() {
  Fiber& here = *entered;
  arrive(here);
  here.entry_();
  __builtin_trap();  // entry_ does not return
}

}  // namespace emulated
