#include "ops/clipping.h"

#include <limits>

#include "ops/clipping_rows.h"

namespace saddle::ops {

void decide_update(Context& context, std::optional<double> clip, View<const double> weights,
                   const UpdateNumbers& numbers) {
  const int64_t workers = numbers.loss().workers();
  check_shape(weights.same_shape(workers, 1, 1), "decide_update", "the weights");
  for_rows(context, {"decide_update", 1, 1, workers, 4 * workers * bytes_of<double>()},
           DecideUpdate{clip.value_or(std::numeric_limits<double>::infinity()), weights,
                        numbers.loss(), numbers.norm(), numbers.scale(), numbers.commit()});
}

}  // namespace saddle::ops
