#include "support/test_context.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "backend/cuda/cuda_device.h"
#include "base/error.h"
#include "emulated/control.h"
#include "example_operation/kernels.h"

namespace saddle {
namespace {

std::string device_of_tests() {
  const char* name = std::getenv("SADDLE_TEST_DEVICE");
  const std::string device = name == nullptr ? "cpu" : name;
  if (device != "cpu" && device != "emulated") {
    fail(ErrorKind::kUsage, "SADDLE_TEST_DEVICE is '{}': expected cpu or emulated", device);
  }
  return device;
}

}  // namespace

bool tests_the_processor() {
  return device_of_tests() == "cpu";
}

void in_every_order(const std::function<void()>& work) {
  if (tests_the_processor()) return work();
  for (const uint64_t order : {0U, 1U, 7U}) {  // forward, backward, drawn from a seed
    emulated::set_order(order);
    work();
  }
  emulated::set_order(0);
}

backend::Context test_context(int threads) {
  if (tests_the_processor()) return backend::Context(threads);
  backend::cuda::KernelTable kernels = ops::cuda::all_kernels();
  ops::cuda::add_squared_relu_kernels(kernels);
  return backend::Context(std::make_shared<backend::cuda::CudaDevice>(0, std::move(kernels)));
}

}  // namespace saddle
