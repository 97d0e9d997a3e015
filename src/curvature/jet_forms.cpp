#include "curvature/jet_forms.h"

#include "model/execution.h"
#include "num/jet.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"

namespace saddle::curvature {
namespace {

template <class T>
class JetForms : public QuadraticForms<T> {
 public:
  using S = num::Jet<T>;

  JetForms(backend::Context& context, const config::ModelSettings& model,
           model::ExecutionOptions options, int64_t sequences, const backend::Arena<T>& weights)
      : QuadraticForms<T>(context),
        source_(weights),
        weights_(context, weights.layout(), 1),
        execution_(
            model::make_execution<S>(context, model, options, sequences, weights_, nullptr)) {}

  std::optional<std::vector<double>> measure_scaled(Microbatches& microbatches,
                                                    const backend::Arena<T>& directions,
                                                    int64_t count,
                                                    const Progress& progress) override {
    ops::copy<T>(this->context(), source_.all(), weights_.all().plane(0));
    std::vector<double> forms;
    for (int64_t k = 0; k < count; ++k) {
      // A straight line: the second derivative of the weights stays zero.
      ops::copy<T>(this->context(), directions.all().worker_range(k, 1), weights_.all().plane(1));
      double sum = 0;
      for (int64_t i = 0; i < microbatches.count(); ++i) {
        microbatches.read(i, microbatch_);
        sum += second_derivative_of_microbatch();
        const int64_t done = k * microbatches.count() + i + 1;
        if (!progress(done, count * microbatches.count())) return std::nullopt;
      }
      forms.push_back(sum / static_cast<double>(microbatches.targets()));
    }
    return forms;
  }

 private:
  // The second derivative of the sum of its losses.
  double second_derivative_of_microbatch() {
    execution_->set_batch(microbatch_.sequences, microbatch_.inputs.data(),
                          microbatch_.targets.data());
    execution_->run_losses();
    return ops::read_sum<S>(this->context(), execution_->losses()).front().dd;
  }

  const backend::Arena<T>& source_;
  backend::Arena<S> weights_;
  std::unique_ptr<model::Execution<S>> execution_;
  Microbatch microbatch_;
};

}  // namespace

template <class T>
std::unique_ptr<QuadraticForms<T>> make_jet_forms(backend::Context& context,
                                                  const config::ModelSettings& model,
                                                  FormOptions options, int64_t sequences,
                                                  const backend::Arena<T>& weights) {
  const model::ExecutionOptions execution{.compile = true, .autocast = options.autocast};
  return std::make_unique<JetForms<T>>(context, model, execution, sequences, weights);
}

template std::unique_ptr<QuadraticForms<float>> make_jet_forms<float>(backend::Context&,
                                                                      const config::ModelSettings&,
                                                                      FormOptions, int64_t,
                                                                      const backend::Arena<float>&);
template std::unique_ptr<QuadraticForms<double>> make_jet_forms<double>(
    backend::Context&, const config::ModelSettings&, FormOptions, int64_t,
    const backend::Arena<double>&);

}  // namespace saddle::curvature
