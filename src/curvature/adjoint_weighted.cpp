#include "curvature/adjoint_weighted.h"

#include <algorithm>

#include "model/tangent_sweep.h"

namespace saddle::curvature {
namespace {

template <class T>
class AdjointWeighted : public QuadraticForms<T> {
 public:
  AdjointWeighted(backend::Context& context, const config::ModelSettings& model,
                  FormOptions options, int64_t sequences, const backend::Arena<T>& weights)
      : QuadraticForms<T>(context),
        model_(model),
        execution_{.compile = true, .autocast = options.autocast},
        sequences_(sequences),
        weights_(weights) {}

  std::optional<std::vector<double>> measure_scaled(Microbatches& microbatches,
                                                    const backend::Arena<T>& directions,
                                                    int64_t count,
                                                    const Progress& progress) override {
    const double weight = 1.0 / static_cast<double>(microbatches.targets());
    const backend::Tensor<double> forms(this->context(), count, 1, 1);
    model::TangentSweep<T>& sweep = sweep_for(std::clamp<int64_t>(count, 1, kSweptTogether));
    Microbatch microbatch;
    for (int64_t i = 0; i < microbatches.count(); ++i) {
      microbatches.read(i, microbatch);
      sweep.run_adjoints(microbatch.sequences, microbatch.inputs.data(), microbatch.targets.data(),
                         weight);
      for (int64_t first = 0; first < count; first += sweep.lanes()) {
        const int64_t lanes = std::min(sweep.lanes(), count - first);
        sweep.add_forms(directions, first, forms.view().worker_range(first, lanes));
        if (!progress(i * count + first + lanes, microbatches.count() * count)) {
          return std::nullopt;
        }
      }
    }
    return backend::to_host<double>(this->context(), forms.view());
  }

 private:
  // Tangents take most of the memory with large microbatches, so there are no more lanes than
  // directions.
  model::TangentSweep<T>& sweep_for(int64_t lanes) {
    if (!sweep_ || sweep_->lanes() < lanes) {
      sweep_.reset();  // frees the old one first
      sweep_ = std::make_unique<model::TangentSweep<T>>(this->context(), model_, execution_,
                                                        sequences_, lanes, weights_);
    }
    return *sweep_;
  }

  config::ModelSettings model_;
  model::ExecutionOptions execution_;
  int64_t sequences_;
  const backend::Arena<T>& weights_;
  std::unique_ptr<model::TangentSweep<T>> sweep_;
};

}  // namespace

template <class T>
std::unique_ptr<QuadraticForms<T>> make_adjoint_weighted(backend::Context& context,
                                                         const config::ModelSettings& model,
                                                         FormOptions options, int64_t sequences,
                                                         const backend::Arena<T>& weights) {
  return std::make_unique<AdjointWeighted<T>>(context, model, options, sequences, weights);
}

template std::unique_ptr<QuadraticForms<float>> make_adjoint_weighted<float>(
    backend::Context&, const config::ModelSettings&, FormOptions, int64_t,
    const backend::Arena<float>&);
template std::unique_ptr<QuadraticForms<double>> make_adjoint_weighted<double>(
    backend::Context&, const config::ModelSettings&, FormOptions, int64_t,
    const backend::Arena<double>&);

}  // namespace saddle::curvature
