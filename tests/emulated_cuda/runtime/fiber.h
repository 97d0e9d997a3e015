// Fibers: a stack each, and the switch from one to another within one thread of the host.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) || defined(SADDLE_EMULATED_UCONTEXT)
#include <ucontext.h>
#endif

namespace emulated {

class Fiber {
 public:
  Fiber();                          // the stack that runs now, the host's
  explicit Fiber(void (*entry)());  // a new stack; the first switch to it calls `entry`, which
                                    // must never return
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Goes on in `to`. Returns when something switches to `from`, the running one.
  static void switch_to(Fiber& from, Fiber& to);

  // Whether `address` lies where the stack runs over.
  bool overflows_at(const void* address) const;

 private:
  static void begin();  // the first function on a new stack
  static void arrive(Fiber& here);

  void (*entry_)() = nullptr;
  char* memory_ = nullptr;  // a closed page, then the stack
#if !defined(__x86_64__) || defined(SADDLE_EMULATED_UCONTEXT)
  ucontext_t context_{};
#else
  void* stack_pointer_ = nullptr;
#endif
  // For the sanitizers.
  const void* bottom_ = nullptr;
  size_t size_ = 0;
  void* fake_stack_ = nullptr;
  void* thread_ = nullptr;
};

}  // namespace emulated
