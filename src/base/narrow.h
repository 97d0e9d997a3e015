// Conversions between integer types that throw instead of losing bits.
#pragma once

#include <utility>

#include "base/error.h"

namespace saddle {

template <class To, class From>
To narrow(From value) {
  if (!std::in_range<To>(value)) {
    fail(ErrorKind::kInternal, "the number {} does not fit an integer of {} bits", value,
         8 * sizeof(To));
  }
  return static_cast<To>(value);
}

}  // namespace saddle
