#include "curvature/dual_forms.h"

#include "curvature/dual_model.h"
#include "ops/reduce.h"

namespace saddle::curvature {
namespace {

template <class T>
class DualForms : public QuadraticForms<T> {
 public:
  DualForms(backend::Context& context, const config::ModelSettings& model,
            model::ExecutionOptions options, int64_t sequences, const backend::Arena<T>& weights)
      : QuadraticForms<T>(context), model_(context, model, options, sequences, weights) {}

  std::optional<std::vector<double>> measure_scaled(Microbatches& microbatches,
                                                    const backend::Arena<T>& directions,
                                                    int64_t count,
                                                    const Progress& progress) override {
    std::vector<double> forms;
    for (int64_t k = 0; k < count; ++k) {
      const backend::View<const T> direction = directions.all().worker_range(k, 1);
      model_.set_direction(direction);
      double form = 0;
      for (int64_t i = 0; i < microbatches.count(); ++i) {
        microbatches.read(i, microbatch_);
        form += form_of_microbatch(direction, 1.0 / static_cast<double>(microbatches.targets()));
        const int64_t done = k * microbatches.count() + i + 1;
        if (!progress(done, count * microbatches.count())) return std::nullopt;
      }
      forms.push_back(form);
    }
    return forms;
  }

 private:
  // The gradient of each microbatch is separate, so that the forms are summed in double.
  double form_of_microbatch(backend::View<const T> direction, double weight) {
    model_.clear_gradient();
    model_.accumulate(microbatch_, weight);
    return ops::read_dot<T>(this->context(), direction, model_.gradient_tangent()).front();
  }

  DualModel<T> model_;
  Microbatch microbatch_;
};

}  // namespace

template <class T>
std::unique_ptr<QuadraticForms<T>> make_dual_forms(backend::Context& context,
                                                   const config::ModelSettings& model,
                                                   FormOptions options, bool compile,
                                                   int64_t sequences,
                                                   const backend::Arena<T>& weights) {
  const model::ExecutionOptions execution{.compile = compile, .autocast = options.autocast};
  return std::make_unique<DualForms<T>>(context, model, execution, sequences, weights);
}

template std::unique_ptr<QuadraticForms<float>> make_dual_forms<float>(
    backend::Context&, const config::ModelSettings&, FormOptions, bool, int64_t,
    const backend::Arena<float>&);
template std::unique_ptr<QuadraticForms<double>> make_dual_forms<double>(
    backend::Context&, const config::ModelSettings&, FormOptions, bool, int64_t,
    const backend::Arena<double>&);

}  // namespace saddle::curvature
