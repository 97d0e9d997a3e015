#include "curvature/hessian_vector_product.h"

#include "ops/elementwise.h"

namespace saddle::curvature {

template <class T>
bool HessianVectorProduct<T>::apply(Microbatches& microbatches, backend::View<const T> direction,
                                    backend::View<T> product, const Progress& progress) {
  model_.set_direction(direction);
  const double weight = 1.0 / static_cast<double>(microbatches.targets());
  for (int64_t i = 0; i < microbatches.count(); ++i) {
    microbatches.read(i, microbatch_);
    model_.accumulate(microbatch_, weight);
    if (!progress(i + 1, microbatches.count())) return false;
  }
  ops::copy<T>(model_.context(), model_.gradient_tangent(), product);
  return true;
}

template class HessianVectorProduct<float>;
template class HessianVectorProduct<double>;

}  // namespace saddle::curvature
