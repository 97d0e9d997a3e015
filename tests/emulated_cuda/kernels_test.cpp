// What kernels may rely on: numbers of threads and blocks, barriers, shuffles, votes, shared
// memory.
#include <gmock/gmock.h>

#include <numeric>

#include "emulated_cuda/device_vector.h"
#include "emulated_cuda/kernels/small.h"

namespace saddle {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// The order of threads and blocks.
class Kernels : public EmulatedCuda, public ::testing::WithParamInterface<uint64_t> {
 protected:
  Kernels() { emulated::set_order(GetParam()); }
  Stream stream_;
};
INSTANTIATE_TEST_SUITE_P(Order, Kernels, ::testing::Values(0u, 1u, 2u, 7u));

TEST_P(Kernels, KnowTheirThreadAndBlock) {
  DeviceVector<int64_t> out(static_cast<size_t>(3 * 2 * 2 * 4 * 3 * 2));
  number_threads(dim3(3, 2, 2), dim3(4, 3, 2), out.data(), stream_);
  stream_.wait();
  std::vector<int64_t> expected(out.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(out.to_host(), expected);
}

template <class T>
void expect_shuffles(T base, cudaStream_t stream) {
  DeviceVector<T> out(128);
  shuffle_all<T>(base, out.data(), stream);
  must(cudaStreamSynchronize(stream));
  const std::vector<T> found = out.to_host();
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(found[lane], base + 5);
    EXPECT_EQ(found[32 + lane], base + static_cast<T>(lane ^ 3u));
    EXPECT_EQ(found[64 + lane], base + static_cast<T>(lane < 28 ? lane + 4 : lane));
    EXPECT_EQ(found[96 + lane], base + static_cast<T>(lane < 2 ? lane : lane - 2));
  }
}

TEST_P(Kernels, ShuffleNumbersOfFourAndEightBytes) {
  expect_shuffles<int>(-7, stream_);
  expect_shuffles<float>(0.25f, stream_);
  expect_shuffles<double>(1e-9, stream_);
}

TEST_P(Kernels, ShuffleAndVoteAmongSomeLanes) {
  DeviceVector<int> sums(32);
  DeviceVector<unsigned> bits(3);
  sum_halves(sums.data(), bits.data(), stream_);
  stream_.wait();
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(sums.to_host()[static_cast<size_t>(lane)], lane < 16 ? 120 : 376);
  }
  EXPECT_EQ(bits.to_host(), (std::vector<unsigned>{0xaaaaaaaau, 0, 1}));
}

TEST_P(Kernels, PassManyBarriersWithAllThreads) {
  for (const unsigned threads : {1u, 31u, 32u, 100u, 1024u}) {
    DeviceVector<int> counts(std::vector<int>{0});
    DeviceVector<int> total(1);
    count_with_barriers(threads, 5, counts.data(), total.data(), stream_);
    stream_.wait();
    EXPECT_THAT(total.to_host(), Each(5 * static_cast<int>(threads)));
  }
}

TEST_P(Kernels, UseDynamicSharedMemory) {
  std::vector<float> x(96);
  std::iota(x.begin(), x.end(), 1.0f);
  DeviceVector<float> from(x);
  DeviceVector<float> to(x.size());
  reverse(from.data(), to.data(), 96, stream_);
  stream_.wait();
  EXPECT_EQ(to.to_host(), std::vector<float>(x.rbegin(), x.rend()));
}

class Launches : public EmulatedCuda {
 protected:
  // What a launch with this geometry leaves behind.
  static std::string error_of(dim3 grid, dim3 block) {
    cudaGetLastError();
    number_threads(grid, block, nullptr, nullptr);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    return cudaGetErrorString(cudaGetLastError());
  }
};

TEST_F(Launches, WithWrongGeometryAreRefused) {
  EXPECT_THAT(error_of(1, 1025),
              HasSubstr("number_kernel(long*): a block of (1025, 1, 1) threads"));
  EXPECT_THAT(error_of(1, dim3(32, 32, 2)), HasSubstr("a block of (32, 32, 2) threads"));
  EXPECT_THAT(error_of(1, dim3(1, 1, 65)), HasSubstr("a block of (1, 1, 65) threads"));
  EXPECT_THAT(error_of(0, 32), HasSubstr("a grid of (0, 1, 1) blocks"));
  EXPECT_THAT(error_of(dim3(1, 65536), 32), HasSubstr("a grid of (1, 65536, 1) blocks"));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace saddle
