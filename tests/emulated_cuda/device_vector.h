// Device memory with its size, and copies that wait, for the tests.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "emulated/control.h"

namespace saddle {

// Throws what the emulated device says about a call that failed.
inline void must(cudaError_t error) {
  if (error != cudaSuccess) {
    fail(ErrorKind::kDevice, "{}: {}", cudaGetErrorName(error), cudaGetErrorString(error));
  }
}

template <class T>
class DeviceVector {
 public:
  explicit DeviceVector(size_t size) : size_(size) { must(cudaMalloc(&data_, size * sizeof(T))); }
  explicit DeviceVector(const std::vector<T>& values) : DeviceVector(values.size()) {
    must(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() { return data_; }
  size_t size() const { return size_; }

  std::vector<T> to_host() const {
    std::vector<T> values(size_);
    must(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

class Stream {
 public:
  Stream() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT: it is one

  void wait() const { must(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Begins and ends with a device to which nothing has happened.
class EmulatedCuda : public ::testing::Test {
 protected:
  EmulatedCuda() { emulated::reset(); }
  ~EmulatedCuda() override { emulated::reset(); }
};

}  // namespace saddle
