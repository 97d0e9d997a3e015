// The threads of OpenMP and of the matrix libraries.
#pragma once

namespace saddle::backend::cpu {

// Prepares the libraries for a context of `threads` threads, and returns how many OpenMP really
// starts, counted in a parallel region: fewer where something limits them (OMP_THREAD_LIMIT,
// OMP_MAX_ACTIVE_LEVELS, a surrounding parallel region).
int prepare_libraries(int threads);

// Lets a parallel region of the calling thread, and with it oneDNN, ask for at most `threads`
// threads, and for no more than start. oneDNN divides a product among the threads that it asks for,
// and the part of a thread that does not start stays undone. Teams that shrink with the load of the
// machine (OMP_DYNAMIC) are switched off for that reason. These are settings of the calling thread,
// which others may have changed: cheap enough to be called before every product.
void limit_team(int threads);

}  // namespace saddle::backend::cpu
