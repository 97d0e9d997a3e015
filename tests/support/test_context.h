// The device on which a test runs: the processor, or with SADDLE_TEST_DEVICE=emulated the CUDA
// device over the emulated CUDA. ctest runs the tests of operations, model, optimizer, training and
// curvature on both.
#pragma once

#include "backend/context.h"

namespace saddle {

// A context on the device that the environment names; `threads`: on the processor. Throws for a
// device that does not exist.
backend::Context test_context(int threads);

// Whether the device is the processor.
bool tests_the_processor();

}  // namespace saddle
