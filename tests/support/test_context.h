// The device on which a test runs: the processor, or with SADDLE_TEST_DEVICE=emulated the CUDA
// device over the emulated CUDA. ctest runs the tests of operations, model, optimizer, training and
// curvature on both.
#pragma once

#include <functional>

#include "backend/context.h"

namespace saddle {

// A context on the device that the environment names; `threads`: on the processor. Throws for a
// device that does not exist.
backend::Context test_context(int threads);

// Whether the device is the processor.
bool tests_the_processor();

// Calls work() in three orders of the lanes, blocks and streams of the emulated device, on which no
// result may depend; once on the processor.
void in_every_order(const std::function<void()>& work);

}  // namespace saddle
