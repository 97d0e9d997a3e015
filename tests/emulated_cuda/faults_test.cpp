// Tests of the tests: planted faults of kernels are found, by name. Without sanitizers by what they
// do to the results or to the memory around, with them by their reports.
#include "emulated_cuda/kernels/faults.h"

#include <gmock/gmock.h>

#include <cmath>

#include "emulated_cuda/device_vector.h"
#include "support/expect_error.h"

namespace saddle {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif
#ifdef __SANITIZE_THREAD__
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

class Faults : public EmulatedCuda {
 protected:
  Faults() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // Expects that waiting for what was queued fails with a message that has all parts.
  void expect_failure(const std::vector<std::string>& parts) {
    expect_error(ErrorKind::kDevice, parts, [this] { stream_.wait(); });
    EXPECT_NE(cudaStreamSynchronize(stream_), cudaSuccess) << "a failure is permanent";
    emulated::reset();
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }

  // Expects that the thread sanitizer reports a race in the source `file`.
  template <class Action>
  static void expect_race(const std::string& file, Action action) {
    EXPECT_EXIT(
        {
          action();
          std::exit(0);  // the sanitizer changes the code
        },
        ::testing::ExitedWithCode(66), "data race(.|\n)*" + file);
  }

  Stream stream_;
};

TEST_F(Faults, MissingBarrierIsARaceAndGivesNan) {
  const auto run = [this] {
    DeviceVector<float> x(std::vector<float>(64, 1.0f));
    DeviceVector<float> out(1);
    sum_without_barrier(x.data(), out.data(), stream_);
    stream_.wait();
    return out.to_host()[0];
  };
  if (kThreadSanitizer) return expect_race("faults.cu", run);
  EXPECT_TRUE(std::isnan(run()));
}

// Only the thread sanitizer can tell: the threads of a warp do not run ahead of a shuffle here.
TEST_F(Faults, SharingWithoutABarrierIsARace) {
  const auto run = [this] {
    DeviceVector<float> out(64);
    share_before_shuffle(out.data(), stream_);
    stream_.wait();
    return out.to_host()[5];
  };
  if (kThreadSanitizer) return expect_race("faults.cu", run);
  EXPECT_EQ(run(), 4);
}

TEST_F(Faults, SharingBeforeABarrierOfTheWarpIsNone) {
  DeviceVector<float> out(64);
  share_before_warp_barrier(out.data(), stream_);
  stream_.wait();
  EXPECT_EQ(out.to_host()[5], 4);
}

TEST_F(Faults, UsingSharedMemoryAgainWithoutABarrierIsARace) {
  const auto run = [this] {
    DeviceVector<float> x(std::vector<float>(64, 1.0f));
    DeviceVector<float> out(2);
    sum_twice_without_barrier(x.data(), out.data(), stream_);
    stream_.wait();
    return out.to_host();
  };
  if (kThreadSanitizer) return expect_race("faults.cu", run);
  EXPECT_EQ(run(), (std::vector<float>{64, 128}));
}

TEST_F(Faults, BlocksThatWriteTheSameAreARaceAndDependOnTheOrder) {
  const auto run = [this] {
    DeviceVector<float> out(1);
    write_from_all_blocks(out.data(), stream_);
    stream_.wait();
    return out.to_host()[0];
  };
  if (kThreadSanitizer) return expect_race("faults.cu", run);
  EXPECT_EQ(run(), 1);
  emulated::set_order(1);
  EXPECT_EQ(run(), 0);
}

TEST_F(Faults, WaitingForDifferentThings) {
  wait_for_different_things(stream_);
  expect_failure({"kernel saddle::", "different_things_kernel()", "block (0, 0, 0)",
                  "threads wait for different things: threads 0 to 15 at __syncthreads (faults.cu:",
                  "threads 16 to 31 at __shfl_xor_sync of lanes 0xffffffff (faults.cu:",
                  "threads 48 to 63 at __shfl_xor_sync"});
}

TEST_F(Faults, WaitingAtDifferentBarriers) {
  wait_at_different_barriers(stream_);
  expect_failure({"different_barriers_kernel()", "threads 0 to 31 at __syncthreads (faults.cu:",
                  "threads 32 to 63 at __syncthreads (faults.cu:"});
}

TEST_F(Faults, WaitingForEver) {
  return_before_barrier(stream_);
  expect_failure({"return_before_barrier_kernel()", "threads wait for ever: threads 0 to 2 at",
                  "thread 3 returned; threads 4 to 63 at __syncthreads"});
}

TEST_F(Faults, TakingFromALaneThatIsNotThere) {
  take_from_absent_lane(stream_);
  expect_failure({"absent_lane_kernel()",
                  "threads 0 to 15 at __shfl_sync of lanes 0xffff (faults.cu:",
                  "which leave its source 20 out"});
}

TEST_F(Faults, TooMuchSharedMemory) {
  DeviceVector<float> out(64);
  ask_for_much_shared(out.data(), stream_);
  expect_failure({"much_shared_kernel(float*)",
                  "the shared array \"more\" of 16384 bytes does not fit "
                  "the 49152 bytes that the launch has"});
}

TEST_F(Faults, WorkAfterAFailureIsRightAgain) {
  return_before_barrier(stream_);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorLaunchFailure);
  emulated::reset();
  DeviceVector<float> out(1);
  write_at(out.data(), 0, stream_);
  stream_.wait();
  EXPECT_EQ(out.to_host()[0], 1);
}

TEST_F(Faults, WritingBehindASharedArray) {
  const auto run = [this] {
    DeviceVector<float> out(1);
    write_behind_shared(out.data(), stream_);
    stream_.wait();
  };
  if (kAddressSanitizer) {
    EXPECT_DEATH(run(), "use-after-poison(.|\n)*write_behind_shared_kernel");
    return;
  }
  expect_error(
      ErrorKind::kDevice,
      {"write_behind_shared_kernel(float*), block (0, 0, 0): a write beyond the end of the "
       "shared array \"eight\""},
      run);
}

// The memory behind 10 numbers, aligned to 256 bytes, belongs to no allocation.
TEST_F(Faults, WritingBehindAnAllocation) {
  const auto run = [this] {
    DeviceVector<float> y(10);
    write_at(y.data(), 10, stream_);
    stream_.wait();
  };
  if (kAddressSanitizer) {
    EXPECT_DEATH(run(), "use-after-poison(.|\n)*write_at_kernel");
    return;
  }
  expect_error(ErrorKind::kDevice, {"a write beyond the end of an allocation of 40 bytes"}, run);
}

TEST_F(Faults, WritingBeforeAnAllocation) {
  const auto run = [this] {
    DeviceVector<float> y(10);
    write_at(y.data(), -1, stream_);
    stream_.wait();
  };
  if (kAddressSanitizer) {
    EXPECT_DEATH(run(), "use-after-poison(.|\n)*write_at_kernel");
    return;
  }
  expect_error(ErrorKind::kDevice, {"a write before the begin of an allocation of 40 bytes"}, run);
}

TEST_F(Faults, WritingFarBehindAnAllocation) {
  const auto run = [this] {
    DeviceVector<float> y(64);
    write_at(y.data(), 64 + 100, stream_);
    stream_.wait();
  };
  EXPECT_DEATH(run(),
               "write_at_kernel.*block .0, 0, 0., thread .0, 0, 0. accesses 400 bytes beyond "
               "an allocation of 256 bytes");
}

TEST_F(Faults, WritingFreedMemory) {
  const auto run = [this] {
    float* y = nullptr;
    must(cudaMalloc(&y, 256));
    must(cudaFree(y));
    write_at(y, 0, stream_);
    stream_.wait();
  };
  EXPECT_DEATH(run(), "write_at_kernel.* accesses .*, which was freed or never allocated");
}

TEST_F(Faults, FullStack) {
  const auto run = [this] {
    DeviceVector<float> out(1);
    overflow_stack(out.data(), stream_);
    stream_.wait();
  };
  EXPECT_DEATH(run(), "overflow_stack_kernel.*: its stack is full");
}

TEST_F(Faults, HostAccessToDeviceMemory) {
  DeviceVector<float> fresh(1);
  EXPECT_DEATH(fresh.data()[0] = 2,
               "host code accesses device memory: byte 0 of an allocation of 4 bytes");
  DeviceVector<float> x(std::vector<float>(64, 1.0f));
  EXPECT_DEATH(std::exit(x.data()[3] == 1.0f ? 0 : 1),
               "host code accesses device memory: byte 12 of an allocation of 256 bytes");
  EXPECT_DEATH(x.data()[0] = 2,
               "host code accesses device memory: byte 0 of an allocation of 256 bytes");
}

}  // namespace
}  // namespace saddle
