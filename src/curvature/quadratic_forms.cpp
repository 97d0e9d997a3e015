#include "curvature/quadratic_forms.h"

#include <array>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "curvature/adjoint_weighted.h"
#include "curvature/dual_forms.h"
#include "curvature/jet_forms.h"
#include "curvature/scaled_directions.h"

namespace saddle::curvature {
namespace {

constexpr std::array kMethods = {
    std::pair(Method::kDoubleBackward, std::string_view("double-backward")),
    std::pair(Method::kForwardReverse, std::string_view("forward-reverse")),
    std::pair(Method::kForwardForward, std::string_view("forward-forward")),
    std::pair(Method::kAdjointWeighted, std::string_view("adjoint-weighted"))};

}  // namespace

std::string_view method_name(Method method) {
  for (const auto& [known, name] : kMethods) {
    if (known == method) return name;
  }
  fail(ErrorKind::kInternal, "method {} has no name", static_cast<int>(method));
}

Method parse_method(std::string_view name) {
  std::string names;
  for (const auto& [method, known] : kMethods) {
    if (known == name) return method;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  fail(ErrorKind::kUsage, "there is no method '{}': expected one of {}", name, names);
}

template <class T>
std::optional<std::vector<double>> QuadraticForms<T>::measure(Microbatches& microbatches,
                                                              backend::Arena<T>& directions,
                                                              int64_t count,
                                                              const Progress& progress) {
  const ScaledDirections<T> scaled(context_, directions, count);
  std::optional<std::vector<double>> forms =
      measure_scaled(microbatches, directions, count, progress);
  if (!forms) return std::nullopt;
  for (int64_t k = 0; k < count; ++k) {
    double& form = forms->at(static_cast<size_t>(k));
    form = scaled.form_before(k, form);
  }
  return forms;
}

template <class T>
std::unique_ptr<QuadraticForms<T>> make_quadratic_forms(backend::Context& context,
                                                        const config::ModelSettings& model,
                                                        FormOptions options, int64_t sequences,
                                                        const backend::Arena<T>& weights) {
  if (options.autocast && std::is_same_v<T, double>) {
    fail(ErrorKind::kConfig, "bf16 autocast is only for float32, but float64 was requested");
  }
  switch (options.method) {
    case Method::kDoubleBackward:
      return make_dual_forms<T>(context, model, options, false, sequences, weights);
    case Method::kForwardReverse:
      return make_dual_forms<T>(context, model, options, true, sequences, weights);
    case Method::kForwardForward:
      return make_jet_forms<T>(context, model, options, sequences, weights);
    case Method::kAdjointWeighted:
      return make_adjoint_weighted<T>(context, model, options, sequences, weights);
  }
  fail(ErrorKind::kInternal, "there is no method {}", static_cast<int>(options.method));
}

template class QuadraticForms<float>;
template class QuadraticForms<double>;
template std::unique_ptr<QuadraticForms<float>> make_quadratic_forms<float>(
    backend::Context&, const config::ModelSettings&, FormOptions, int64_t,
    const backend::Arena<float>&);
template std::unique_ptr<QuadraticForms<double>> make_quadratic_forms<double>(
    backend::Context&, const config::ModelSettings&, FormOptions, int64_t,
    const backend::Arena<double>&);

}  // namespace saddle::curvature
