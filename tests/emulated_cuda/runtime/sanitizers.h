// What the sanitizers are told. Without them these functions do nothing.
//
// The emulator itself is compiled without the thread sanitizer's instrumentation: fibers share its
// data in ways that are no race. SADDLE_THREAD_SANITIZER says whether the rest has it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SADDLE_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace emulated {

#if defined(SADDLE_THREAD_SANITIZER)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// Accesses to [begin, begin + bytes) are errors from now on.
inline void poison([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(begin, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

// What the running fiber did before order_release(at) comes before what another one does after
// order_acquire(at).
inline void order_release([[maybe_unused]] void* at) {
#if defined(SADDLE_THREAD_SANITIZER)
  __tsan_release(at);
#endif
}

inline void order_acquire([[maybe_unused]] void* at) {
#if defined(SADDLE_THREAD_SANITIZER)
  __tsan_acquire(at);
#endif
}

}  // namespace emulated
