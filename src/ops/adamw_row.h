// AdamW over consecutive numbers of one worker (the formula is in ops/adamw.h).
#pragma once

#include <cmath>

#include "ops/adamw.h"

namespace saddle::ops {

// The constants of an update, rounded once to the type of the numbers.
template <class T>
struct AdamWConstants {
  explicit AdamWConstants(const AdamWStep& step)
      : beta1(static_cast<T>(step.beta1)),
        rest1(static_cast<T>(1.0 - step.beta1)),
        beta2(static_cast<T>(step.beta2)),
        rest2(static_cast<T>(1.0 - step.beta2)),
        rate(static_cast<T>(step.lr / correction(step.beta1, step.step))),
        root(static_cast<T>(1.0 / std::sqrt(correction(step.beta2, step.step)))),
        eps(static_cast<T>(step.eps)),
        keep_decaying(static_cast<T>(1.0 - step.lr * step.weight_decay)) {}

  T keep(const AdamWSegment& segment) const { return segment.decays ? keep_decaying : T(1); }

  T beta1, rest1, beta2, rest2, rate, root, eps, keep_decaying;

 private:
  static double correction(double beta, int64_t step) {
    return 1.0 - std::pow(beta, static_cast<double>(step));
  }
};

// Writes w, m and v at [0, count): w from `before`, which may be w. All callers share one piece of
// machine code: inlined copies could fuse different multiplications with additions and differ in
// the last bit.
template <class T>
[[gnu::noinline, gnu::noclone]] void adamw_row(const AdamWConstants<T>& constants, T keep, T scale,
                                               int64_t count, const T* gradient, const T* before,
                                               T* w, T* m, T* v) {
  const AdamWConstants<T> c = constants;
  SADDLE_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const T g = gradient[i] * scale;
    const T first = m[i] * c.beta1 + g * c.rest1;
    const T second = v[i] * c.beta2 + g * g * c.rest2;
    m[i] = first;
    v[i] = second;
    w[i] = before[i] * keep - c.rate * first / (std::sqrt(second) * c.root + c.eps);
  }
}

}  // namespace saddle::ops
