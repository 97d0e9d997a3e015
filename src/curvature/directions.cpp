#include "curvature/directions.h"

#include <algorithm>

#include "backend/parallel.h"
#include "base/error.h"
#include "base/narrow.h"
#include "base/random.h"

namespace saddle::curvature {

std::vector<int64_t> noise_batches(int64_t population, std::optional<int64_t> samples,
                                   uint64_t seed) {
  if (population < 1 || (samples && *samples < 0)) {
    fail(ErrorKind::kConfig,
         "expected at least 0 noise samples of at least 1 batch, found {} of {}",
         samples.value_or(population), population);
  }
  std::vector<int64_t> batches =
      random_permutation(RandomStream(seed, RandomPurpose::kNoiseSamples), population);
  batches.resize(static_cast<size_t>(std::min(samples.value_or(population), population)));
  std::ranges::sort(batches);
  return batches;
}

template <class T>
void write_random_direction(backend::Context& context, uint64_t seed, int64_t k,
                            backend::Arena<T>& directions, int64_t lane) {
  constexpr int64_t kPiece = int64_t{1} << 20;  // numbers in host memory at a time
  const RandomStream random(seed, RandomPurpose::kDirection, narrow<uint64_t>(k));
  std::vector<T> signs;
  int64_t place = 0;  // index in the canonical order, without padding
  for (size_t slot = 0; slot < directions.layout().slots().size(); ++slot) {
    const backend::View<T> view = directions.view(static_cast<int>(slot)).worker_range(lane, 1);
    const int64_t piece_rows = std::max<int64_t>(1, kPiece / view.cols());
    for (int64_t first = 0; first < view.rows(); first += piece_rows) {
      const int64_t rows = std::min(piece_rows, view.rows() - first);
      signs.resize(static_cast<size_t>(rows * view.cols()));
      backend::parallel_for(context, rows * view.cols(), [&](int64_t i) {
        signs[static_cast<size_t>(i)] =
            static_cast<T>(random.rademacher(static_cast<uint64_t>(place + i)));
      });
      backend::copy_from_host<T>(context, signs.data(), 0, view.row_range(first, rows));
      place += rows * view.cols();
    }
  }
}

template void write_random_direction<float>(backend::Context&, uint64_t, int64_t,
                                            backend::Arena<float>&, int64_t);
template void write_random_direction<double>(backend::Context&, uint64_t, int64_t,
                                             backend::Arena<double>&, int64_t);

}  // namespace saddle::curvature
