// The threads of OpenMP and of the matrix libraries.
#pragma once

namespace saddle::backend::cpu {

// Prepares the libraries for a context of `threads` threads, and returns how many OpenMP actually
// starts, counted in a parallel region: fewer if something limits them (OMP_THREAD_LIMIT,
// OMP_MAX_ACTIVE_LEVELS, a surrounding parallel region).
int prepare_libraries(int threads);

// Lets parallel regions of the calling thread, including those of oneDNN, request at most `threads`
// threads, and no more than can start. oneDNN divides a product among the threads that it requests,
// and the part of a thread that does not start is never computed. For the same reason, teams that
// shrink with the load of the machine (OMP_DYNAMIC) are switched off. These are settings of the
// calling thread, and others may have changed them: cheap enough to be called before every product.
void limit_team(int threads);

}  // namespace saddle::backend::cpu
