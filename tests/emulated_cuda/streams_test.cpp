// Work is queued: what the host has not waited for has not happened.
#include <gmock/gmock.h>

#include <memory>
#include <thread>

#include "emulated_cuda/device_vector.h"
#include "emulated_cuda/kernels/small.h"
#include "support/expect_error.h"

namespace saddle {
namespace {

using ::testing::Each;

constexpr int64_t kCount = 100;
constexpr size_t kBytes = kCount * sizeof(float);

class Streams : public EmulatedCuda {
 protected:
  Streams() : x_(std::vector<float>(kCount, 3.0f)), y_(kCount), host_(kCount, -1.0f) {}

  void copy_to_host(DeviceVector<float>& from, cudaStream_t stream) {
    must(cudaMemcpyAsync(host_.data(), from.data(), kBytes, cudaMemcpyDeviceToHost, stream));
  }

  DeviceVector<float> x_, y_;
  std::vector<float> host_;
  Stream stream_, other_;
};

TEST_F(Streams, MissingWaitShows) {
  scale(x_.data(), y_.data(), 2, kCount, stream_);
  copy_to_host(y_, stream_);
  EXPECT_THAT(host_, Each(-1.0f));
  stream_.wait();
  EXPECT_THAT(host_, Each(6.0f));
}

TEST_F(Streams, ArgumentsAreCopiedWhenAKernelIsLaunched) {
  float factor = 2;
  scale(x_.data(), y_.data(), factor, kCount, stream_);
  factor = 5;
  stream_.wait();
  EXPECT_THAT(y_.to_host(), Each(6.0f));
}

// A copy reads its source when it runs.
TEST_F(Streams, HostMemoryThatChangesTooEarlyShows) {
  std::vector<float> source(kCount, 1.0f);
  must(cudaMemcpyAsync(x_.data(), source.data(), kBytes, cudaMemcpyHostToDevice, stream_));
  source.assign(kCount, 9.0f);
  stream_.wait();
  EXPECT_THAT(x_.to_host(), Each(9.0f));
}

TEST_F(Streams, PinnedMemoryThatIsGoneIsFound) {
  float* source = nullptr;
  must(cudaHostAlloc(&source, kBytes, cudaHostAllocDefault));
  must(cudaMemcpyAsync(x_.data(), source, kBytes, cudaMemcpyHostToDevice, stream_));
  must(cudaFreeHost(source));
  expect_error(ErrorKind::kDevice,
               {"the pinned memory that is the source of a queued copy was freed before it ran"},
               [this] { stream_.wait(); });
}

#ifdef __SANITIZE_ADDRESS__
TEST_F(Streams, PageableMemoryThatIsGoneIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [this] {
    auto source = std::make_unique<std::vector<float>>(kCount, 1.0f);
    must(cudaMemcpyAsync(x_.data(), source->data(), kBytes, cudaMemcpyHostToDevice, stream_));
    source.reset();
    stream_.wait();
  };
  EXPECT_DEATH(run(), "heap-use-after-free");
}
#endif

TEST_F(Streams, AnEventWaitsForNoMoreThanWasQueuedBefore) {
  cudaEvent_t event = nullptr;
  must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  scale(x_.data(), y_.data(), 2, kCount, stream_);
  copy_to_host(y_, stream_);
  must(cudaEventRecord(event, stream_));
  scale(x_.data(), y_.data(), 4, kCount, stream_);
  copy_to_host(y_, stream_);
  must(cudaEventSynchronize(event));
  EXPECT_THAT(host_, Each(6.0f));
  stream_.wait();
  EXPECT_THAT(host_, Each(12.0f));
  must(cudaEventDestroy(event));
}

TEST_F(Streams, AnotherStreamMustWaitForTheEvent) {
  cudaEvent_t event = nullptr;
  must(cudaEventCreate(&event));
  for (const bool waits : {false, true}) {
    DeviceVector<float> y(kCount);
    scale(x_.data(), y.data(), 2, kCount, stream_);
    must(cudaEventRecord(event, stream_));
    if (waits) must(cudaStreamWaitEvent(other_, event));
    copy_to_host(y, other_);
    other_.wait();
    EXPECT_EQ(host_[7] == 6.0f, waits);
  }
  must(cudaEventDestroy(event));
}

// With no order between them, the order of streams is that of the device.
TEST_F(Streams, MissingOrderShowsInSomeOrderOfStreams) {
  for (const uint64_t order : {0u, 1u}) {
    emulated::set_order(order);
    DeviceVector<float> y(kCount);
    scale(x_.data(), y.data(), 2, kCount, stream_);
    copy_to_host(y, other_);
    must(cudaDeviceSynchronize());
    EXPECT_EQ(host_[7] == 6.0f, order == 0);
  }
}

TEST_F(Streams, TheDefaultStreamWaitsForThoseThatFollowItAndTheyForIt) {
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  must(cudaStreamCreate(&first));
  must(cudaStreamCreate(&second));
  scale(x_.data(), y_.data(), 2, kCount, first);
  scale(y_.data(), y_.data(), 2, kCount, nullptr);
  scale(y_.data(), y_.data(), 2, kCount, second);
  copy_to_host(y_, second);
  must(cudaStreamSynchronize(second));
  EXPECT_THAT(host_, Each(24.0f));
  scale(y_.data(), y_.data(), 2, kCount, first);
  EXPECT_THAT(y_.to_host(), Each(48.0f));  // cudaMemcpy uses the default stream
  must(cudaStreamDestroy(first));
  must(cudaStreamDestroy(second));
}

TEST_F(Streams, QueriesGoOnStepByStep) {
  scale(x_.data(), y_.data(), 2, kCount, stream_);
  scale(y_.data(), y_.data(), 2, kCount, stream_);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  must(cudaEventCreate(&begin));
  must(cudaEventCreate(&end));
  must(cudaEventRecord(begin, stream_));
  must(cudaEventRecord(end, stream_));
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(end), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(end), cudaSuccess);
  must(cudaEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GE(milliseconds, 0);
  must(cudaEventDestroy(begin));
  must(cudaEventDestroy(end));
}

TEST_F(Streams, OfSeveralThreadsOfTheHost) {
  std::vector<std::thread> threads;
  std::vector<float> found(3);
  for (size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([this, t, &found] {
      DeviceVector<float> y(kCount);
      const Stream own;
      for (int i = 0; i < 10; ++i) {
        scale(x_.data(), y.data(), static_cast<float>(t), kCount, own);
        own.wait();
      }
      found[t] = y.to_host()[7];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, (std::vector<float>{0, 3, 6}));
}

TEST_F(Streams, UnknownStreamsAndEventsAreRefused) {
  cudaStream_t gone = nullptr;
  must(cudaStreamCreate(&gone));
  must(cudaStreamDestroy(gone));
  EXPECT_EQ(cudaStreamSynchronize(gone), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(nullptr, stream_), cudaErrorInvalidResourceHandle);
}

TEST_F(Streams, CountWhatIsAskedOfTheDevice) {
  emulated::reset_counters();
  scale(x_.data(), y_.data(), 2, kCount, stream_);
  scale(x_.data(), y_.data(), 2, kCount, stream_);
  must(cudaMemcpyAsync(x_.data(), host_.data(), kBytes, cudaMemcpyHostToDevice, stream_));
  must(cudaMemcpyAsync(y_.data(), x_.data(), 8, cudaMemcpyDeviceToDevice, stream_));
  must(cudaMemsetAsync(x_.data(), 0, 12, stream_));
  must(cudaMemcpy2DAsync(host_.data(), 8, y_.data(), 16, 4, 3, cudaMemcpyDeviceToHost, stream_));
  stream_.wait();
  stream_.wait();
  const DeviceVector<float> more(3);
  const emulated::Counters counted = emulated::counters();
  EXPECT_EQ(counted.kernel_launches, 2);
  EXPECT_EQ(counted.copies, 4);
  EXPECT_EQ(counted.bytes_to_device, 400);
  EXPECT_EQ(counted.bytes_on_device, 8);
  EXPECT_EQ(counted.bytes_filled, 12);
  EXPECT_EQ(counted.bytes_to_host, 12);
  EXPECT_EQ(counted.host_synchronizations, 2);
  EXPECT_EQ(counted.allocations, 1);
  EXPECT_EQ(counted.bytes_allocated, 12);
}

}  // namespace
}  // namespace saddle
