#include "model/execution.h"

#include "model/plan.h"
#include "model/reference.h"

namespace saddle::model {

template <class S>
std::unique_ptr<Execution<S>> make_execution(backend::Context& context,
                                             const config::ModelSettings& model,
                                             ExecutionOptions options, int64_t sequences,
                                             const backend::Arena<S>& weights,
                                             backend::Arena<S>* gradients) {
  if constexpr (!num::kHasAdjoint<S>) {
    if (!options.compile) {
      fail(ErrorKind::kInternal, "operation by operation, numbers must have an adjoint");
    }
  } else if (!options.compile) {
    return std::make_unique<Reference<S>>(context, model, options, sequences, weights, gradients);
  }
  if constexpr (std::is_same_v<S, float>) {
    if (options.autocast) {
      return std::make_unique<Plan<num::Bf16>>(context, model, options, sequences, weights,
                                               gradients);
    }
  }
  return std::make_unique<Plan<S>>(context, model, options, sequences, weights, gradients);
}

#define SADDLE_INSTANTIATE(S)                                                     \
  template std::unique_ptr<Execution<S>> make_execution<S>(                       \
      backend::Context&, const config::ModelSettings&, ExecutionOptions, int64_t, \
      const backend::Arena<S>&, backend::Arena<S>*);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::model
