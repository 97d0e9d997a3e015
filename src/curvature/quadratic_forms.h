// Quadratic forms v'Hv of the Hessian of a mean loss, for many directions v, by one of four methods
// (docs/math/curvature.md):
//
//   kDoubleBackward   operation by operation over dual numbers, as an eager framework does it
//   kForwardReverse   the plan over dual numbers (Pearlmutter, "Fast exact multiplication by the
//                     Hessian", Neural Computation 1994); also gives Hv
//   kForwardForward   the plan over second-order jets, only losses
//   kAdjointWeighted  one forward and adjoint shared by all directions, then for each direction one
//                     sweep of tangents whose local second-order terms are weighted by the adjoints
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/tensor.h"
#include "config/settings.h"
#include "curvature/microbatches.h"

namespace saddle::curvature {

enum class Method { kDoubleBackward, kForwardReverse, kForwardForward, kAdjointWeighted };

// The names on the command line: double-backward, ...; parse_method() fails with kUsage.
std::string_view method_name(Method method);
Method parse_method(std::string_view name);

// Called after every step of a measurement, with `done` of `total` steps; false: stop.
using Progress = std::function<bool(int64_t done, int64_t total)>;

template <class T>
class QuadraticForms {
 public:
  explicit QuadraticForms(backend::Context& context) : context_(context) {}
  QuadraticForms(const QuadraticForms&) = delete;
  QuadraticForms& operator=(const QuadraticForms&) = delete;
  virtual ~QuadraticForms() = default;

  // v'Hv for the first `count` directions [G, D_padded], where H is the Hessian at the weights of
  // sum_m loss_m / microbatches.targets(). Sums over microbatches are carried in double. Nothing if
  // `progress` said stop. Weights do not change; directions are multiplied by powers of two while
  // it runs, so that their norms do not matter (scaled_directions.h).
  std::optional<std::vector<double>> measure(Microbatches& microbatches,
                                             backend::Arena<T>& directions, int64_t count,
                                             const Progress& progress);

 protected:
  // The same, for unscaled directions.
  virtual std::optional<std::vector<double>> measure_scaled(Microbatches& microbatches,
                                                            const backend::Arena<T>& directions,
                                                            int64_t count,
                                                            const Progress& progress) = 0;
  backend::Context& context() const { return context_; }

 private:
  backend::Context& context_;
};

struct FormOptions {
  Method method = Method::kAdjointWeighted;
  bool autocast = false;  // bf16 autocast in the forward pass; only for T = float
};

// For microbatches of at most `sequences` sequences. `weights` [1, D_padded] must outlive it.
// Errors: kConfig for autocast in double.
template <class T>
std::unique_ptr<QuadraticForms<T>> make_quadratic_forms(backend::Context& context,
                                                        const config::ModelSettings& model,
                                                        FormOptions options, int64_t sequences,
                                                        const backend::Arena<T>& weights);

}  // namespace saddle::curvature
