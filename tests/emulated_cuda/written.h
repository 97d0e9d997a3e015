// Finds results that were computed from memory that nothing wrote.
#pragma once

#include <gtest/gtest.h>

#include "emulated_cuda/device_vector.h"

namespace saddle {

// Whether every floating-point number of x was computed from numbers that something wrote.
template <class T>
::testing::AssertionResult written(DeviceVector<T>& x) {
  const std::optional<size_t> at = emulated::first_unwritten(x.data(), x.size() * sizeof(T));
  if (!at) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "number " << *at / sizeof(T) << " of " << x.size() << " is as in fresh memory";
}

}  // namespace saddle
