// Captured work: recorded, not done; done again with the same bits at every launch.
#include <gmock/gmock.h>

#include <cstring>

#include "base/random.h"
#include "emulated_cuda/device_vector.h"
#include "emulated_cuda/kernels/rows.h"
#include "emulated_cuda/kernels/small.h"
#include "support/expect_error.h"

namespace saddle {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kGraphRows = 3;
constexpr int64_t kGraphCols = 70;
constexpr size_t kGraphCount = kGraphRows * kGraphCols;

class Graphs : public EmulatedCuda {
 protected:
  Graphs() : x_(numbers()), y_(kGraphCount), sums_(kGraphRows) {}

  static std::vector<float> numbers() {
    const RandomStream random(2, RandomPurpose::kTest);
    std::vector<float> values(kGraphCount);
    for (size_t i = 0; i < kGraphCount; ++i) values[i] = static_cast<float>(random.normal(i));
    return values;
  }

  void queue_work() {
    normalize_rows<float>(x_.data(), y_.data(), kGraphRows, kGraphCols, 1e-5f, stream_);
    scale(y_.data(), y_.data(), 0.7f, static_cast<int64_t>(kGraphCount), stream_);
    sum_rows<float>(y_.data(), sums_.data(), kGraphRows, kGraphCols, stream_);
  }

  void begin() { must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal)); }

  cudaGraphExec_t end() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    must(cudaStreamEndCapture(stream_, &graph));
    must(cudaGraphInstantiate(&executable, graph));
    must(cudaGraphDestroy(graph));
    return executable;
  }

  // Expects that `call` fails with `message` while the stream captures, and ends the capture.
  template <class Call>
  void expect_refused_in_capture(const std::string& message, Call call) {
    begin();
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported);
    EXPECT_THAT(emulated::failure(), HasSubstr(message));
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    must(cudaStreamIsCapturing(stream_, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    begin();
    must(cudaGraphExecDestroy(end()));  // the next capture is not affected
  }

  DeviceVector<float> x_, y_, sums_;
  Stream stream_;
};

TEST_F(Graphs, ReplayTheSameBits) {
  queue_work();
  stream_.wait();
  const std::vector<float> expected = sums_.to_host();

  begin();
  queue_work();
  const cudaGraphExec_t graph = end();
  for (int replay = 0; replay < 3; ++replay) {
    must(cudaMemsetAsync(y_.data(), 0xff, kGraphCount * sizeof(float), stream_));
    must(cudaMemsetAsync(sums_.data(), 0xff, kGraphRows * sizeof(float), stream_));
    must(cudaGraphLaunch(graph, stream_));
    stream_.wait();
    const std::vector<float> found = sums_.to_host();
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), kGraphRows * sizeof(float)), 0);
  }
  must(cudaGraphExecDestroy(graph));
}

TEST_F(Graphs, CapturingDoesNothing) {
  must(cudaMemsetAsync(y_.data(), 0, kGraphCount * sizeof(float), stream_));
  stream_.wait();
  emulated::reset_counters();
  begin();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  must(cudaStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  queue_work();
  const cudaGraphExec_t graph = end();
  EXPECT_EQ(emulated::counters().kernel_launches, 0);
  EXPECT_THAT(y_.to_host(), Each(0.0f));
  must(cudaGraphLaunch(graph, stream_));
  must(cudaGraphLaunch(graph, stream_));
  EXPECT_EQ(emulated::counters().graph_launches, 2);
  EXPECT_EQ(emulated::counters().kernel_launches, 6);
  must(cudaGraphExecDestroy(graph));
}

TEST_F(Graphs, PinnedMemoryIsReadAtEachLaunch) {
  float* factors = nullptr;
  must(cudaHostAlloc(&factors, sizeof(float), cudaHostAllocDefault));
  begin();
  must(cudaMemcpyAsync(sums_.data(), factors, sizeof(float), cudaMemcpyHostToDevice, stream_));
  const cudaGraphExec_t graph = end();
  for (const float factor : {2.0f, 3.0f}) {
    *factors = factor;
    must(cudaGraphLaunch(graph, stream_));
    stream_.wait();
    EXPECT_EQ(sums_.to_host()[0], factor);
  }
  must(cudaFreeHost(factors));
  must(cudaGraphLaunch(graph, stream_));
  expect_error(ErrorKind::kDevice, {"pinned memory that is the source"},
               [this] { stream_.wait(); });
  must(cudaGraphExecDestroy(graph));
}

TEST_F(Graphs, WaitingWhileCapturingIsRefused) {
  expect_refused_in_capture("cudaStreamSynchronize was called while a stream captures",
                            [this] { return cudaStreamSynchronize(stream_); });
  expect_refused_in_capture("cudaDeviceSynchronize was called while a stream captures",
                            [] { return cudaDeviceSynchronize(); });
  float number = 0;
  expect_refused_in_capture("cudaMemcpy was called while a stream captures", [&] {
    return cudaMemcpy(&number, x_.data(), sizeof(number), cudaMemcpyDeviceToHost);
  });
}

TEST_F(Graphs, AllocatingWhileCapturingIsRefused) {
  float* memory = nullptr;
  expect_refused_in_capture("cudaMalloc was called while a stream captures",
                            [&] { return cudaMalloc(&memory, 4); });
  must(cudaMalloc(&memory, 4));
  expect_refused_in_capture("cudaFree was called while a stream captures",
                            [&] { return cudaFree(memory); });
  must(cudaFree(memory));
}

TEST_F(Graphs, CopiesOfPageableMemoryAreNotCaptured) {
  float number = 1;
  expect_refused_in_capture("a copy of pageable host memory was captured", [&] {
    return cudaMemcpyAsync(sums_.data(), &number, sizeof(number), cudaMemcpyHostToDevice, stream_);
  });
}

TEST_F(Graphs, TheDefaultStreamIsNotUsedWhileAnotherCaptures) {
  begin();
  scale(x_.data(), y_.data(), 1, 1, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
}

}  // namespace
}  // namespace saddle
