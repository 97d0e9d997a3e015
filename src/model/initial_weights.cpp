#include "model/initial_weights.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "backend/parallel.h"
#include "base/random.h"

namespace saddle::model {
namespace {

bool writes_to_residual(std::string_view name) {
  return name.ends_with("out_proj.weight") || name.ends_with("down_proj.weight");
}

}  // namespace

template <class T>
void set_initial_weights(backend::Context& context, const config::ModelSettings& model,
                         uint64_t seed, backend::Arena<T>& weights) {
  constexpr double kDeviation = 0.02;
  constexpr int64_t kPiece = 8192;
  const auto& slots = weights.layout().slots();
  for (size_t place = 0; place < slots.size(); ++place) {
    const tensor::Slot& slot = slots[place];
    std::vector<T> host(slot.size(), T(1));
    if (!slot.is_vector) {
      const double deviation = writes_to_residual(slot.name)
                                   ? kDeviation / std::sqrt(2.0 * static_cast<double>(model.layers))
                                   : kDeviation;
      const RandomStream stream(seed, RandomPurpose::kInitialWeights, place);
      backend::parallel_for(context, (slot.size() + kPiece - 1) / kPiece, [&](int64_t piece) {
        const int64_t end = std::min(slot.size(), (piece + 1) * kPiece);
        for (int64_t i = piece * kPiece; i < end; ++i) {
          host[i] = static_cast<T>(deviation * stream.normal(i));
        }
      });
    }
    for (int64_t n = 0; n < weights.workers(); ++n) {
      backend::copy_from_host<T>(context, host.data(), 0,
                                 weights.view(static_cast<int>(place)).worker_range(n, 1));
    }
  }
}

template void set_initial_weights<float>(backend::Context&, const config::ModelSettings&, uint64_t,
                                         backend::Arena<float>&);
template void set_initial_weights<double>(backend::Context&, const config::ModelSettings&, uint64_t,
                                          backend::Arena<double>&);

}  // namespace saddle::model
