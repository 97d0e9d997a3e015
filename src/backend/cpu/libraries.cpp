#include "backend/cpu/libraries.h"

#include <blis-openmp/blis.h>
#include <omp.h>

#include <algorithm>

namespace saddle::backend::cpu {
namespace {

// The thread sanitizer does not know the barriers of OpenMP; under it, loops use one thread.
int counted_team([[maybe_unused]] int threads) {
#if defined(__SANITIZE_THREAD__)
  return omp_get_max_threads();
#else
  int team = 1;
#pragma omp parallel num_threads(threads)
  {
#pragma omp master
    team = omp_get_num_threads();
  }
  return team;
#endif
}

}  // namespace

int prepare_libraries(int threads) {
  bli_thread_set_num_threads(1);  // BLIS is called from loops already shared among threads
  limit_team(threads);
  return threads == 1 ? 1 : counted_team(threads);
}

void limit_team(int threads) {
  omp_set_dynamic(0);
  const int limit = omp_get_max_active_levels() < 1 ? 1 : omp_get_thread_limit();
  omp_set_num_threads(std::min(threads, limit));
}

}  // namespace saddle::backend::cpu
