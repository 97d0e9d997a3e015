// Device memory: fresh memory is NaN, the limit is kept, copies stay inside.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "emulated_cuda/device_vector.h"
#include "emulated_cuda/kernels/small.h"
#include "emulated_cuda/written.h"
#include "support/expect_error.h"

namespace saddle {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class Memory : public EmulatedCuda {
 protected:
  Stream stream_;
};

TEST_F(Memory, IsNanAtFirst) {
  for (const float number : DeviceVector<float>(100).to_host()) EXPECT_TRUE(std::isnan(number));
  for (const double number : DeviceVector<double>(100).to_host()) EXPECT_TRUE(std::isnan(number));
}

TEST_F(Memory, ReadsOfWhatNothingWroteAreFoundInTheResult) {
  DeviceVector<float> x(100);
  DeviceVector<float> y(100);
  const std::vector<float> part(60, 1.0f);
  must(cudaMemcpy(x.data(), part.data(), 60 * sizeof(float), cudaMemcpyHostToDevice));
  scale(x.data(), y.data(), 2, 100, stream_);
  stream_.wait();
  EXPECT_FALSE(written(y));
  EXPECT_THAT(written(y).message(), HasSubstr("number 60 of 100 is as in fresh memory"));
  must(cudaMemsetAsync(x.data(), 0, 100 * sizeof(float), stream_));
  scale(x.data(), y.data(), 2, 100, stream_);
  stream_.wait();
  EXPECT_TRUE(written(y));
}

TEST_F(Memory, IsLimited) {
  const size_t before = emulated::bytes_in_use();
  emulated::set_memory_limit(before + 1000);
  DeviceVector<char> most(900);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 101), cudaErrorMemoryAllocation);
  EXPECT_EQ(memory, nullptr);
  EXPECT_THAT(cudaGetErrorString(cudaErrorMemoryAllocation),
              HasSubstr("out of device memory: 101 bytes asked for, "));
  size_t free = 0;
  size_t total = 0;
  must(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(free, 100u);
  EXPECT_EQ(total, before + 1000);
  must(cudaMalloc(&memory, 100));  // the failure is not permanent
  must(cudaFree(memory));
  EXPECT_EQ(cudaMalloc(&memory, SIZE_MAX), cudaErrorMemoryAllocation);
}

TEST_F(Memory, IsAlignedAndNeverUsedAgain) {
  void* first = nullptr;
  void* second = nullptr;
  must(cudaMalloc(&first, 10));
  must(cudaFree(first));
  must(cudaMalloc(&second, 10));
  EXPECT_NE(first, second);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % 256, 0u);
  must(cudaFree(second));
  EXPECT_EQ(cudaFree(second), cudaErrorInvalidValue);
}

TEST_F(Memory, CopiesOutsideOfAllocationsAreRefused) {
  DeviceVector<float> x(10);
  std::vector<float> host(20);
  EXPECT_EQ(cudaMemcpy(host.data(), x.data(), 44, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_THAT(emulated::failure(), HasSubstr("the source of a copy is no device memory: it ends 4 "
                                             "bytes beyond an allocation of 40 bytes"));
  EXPECT_EQ(cudaMemcpy(x.data() + 10, host.data(), 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_THAT(emulated::failure(),
              HasSubstr("it begins at 0 bytes beyond an allocation of 40 bytes"));
  EXPECT_EQ(cudaMemsetAsync(x.data(), 0, 41, stream_), cudaErrorInvalidValue);
}

TEST_F(Memory, CopiesInTheWrongDirectionAreRefused) {
  DeviceVector<float> x(10);
  std::vector<float> host(10);
  EXPECT_EQ(cudaMemcpy(host.data(), x.data(), 40, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(x.data(), x.data(), 40, cudaMemcpyHostToDevice),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_THAT(emulated::failure(), HasSubstr("the source of a copy is no host memory: it is byte 0 "
                                             "of an allocation of 40 bytes"));
  must(cudaMemcpy(host.data(), x.data(), 40, cudaMemcpyDefault));
}

TEST_F(Memory, CopiesOfRows) {
  std::vector<float> host(12);
  std::iota(host.begin(), host.end(), 0.0f);
  DeviceVector<float> x(std::vector<float>(6, -1.0f));
  // Columns 1 and 2 of a 3 x 4 matrix.
  must(cudaMemcpy2DAsync(x.data(), 8, host.data() + 1, 16, 8, 3, cudaMemcpyHostToDevice, stream_));
  stream_.wait();
  EXPECT_EQ(x.to_host(), (std::vector<float>{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(cudaMemcpy2DAsync(x.data(), 4, host.data(), 16, 8, 3, cudaMemcpyHostToDevice, stream_),
            cudaErrorInvalidPitchValue);
}

TEST_F(Memory, SharedMemoryBeyondTheUsualMustBeAskedFor) {
  DeviceVector<float> x(std::vector<float>(1024, 1.0f));
  DeviceVector<float> y(1024);
  cudaDeviceProp properties;
  must(cudaGetDeviceProperties(&properties, 0));
  allow_reverse(static_cast<int>(properties.sharedMemPerBlockOptin) + 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  allow_reverse(2048);
  reverse(x.data(), y.data(), 1024, stream_);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_THAT(emulated::failure(), HasSubstr("4096 bytes of shared memory, 2048 are allowed"));
  allow_reverse(static_cast<int>(properties.sharedMemPerBlockOptin));
  reverse(x.data(), y.data(), 1024, stream_);
  stream_.wait();
  EXPECT_THAT(y.to_host(), Each(1.0f));
}

TEST_F(Memory, PinnedMemoryIsOrdinaryHostMemory) {
  float* pinned = nullptr;
  must(cudaHostAlloc(&pinned, 40, cudaHostAllocDefault));
  EXPECT_TRUE(std::isnan(pinned[9]));
  pinned[9] = 4;
  DeviceVector<float> x(10);
  must(cudaMemcpyAsync(x.data(), pinned, 40, cudaMemcpyHostToDevice, stream_));
  stream_.wait();
  EXPECT_EQ(x.to_host()[9], 4);
  must(cudaFreeHost(pinned));
  EXPECT_EQ(cudaFreeHost(&x), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace saddle
