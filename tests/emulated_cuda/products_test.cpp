// Products through cuBLASLt's calls: right for every layout, and wrong calls are found by name.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "base/random.h"
#include "emulated_cuda/library_product.h"
#include "emulated_cuda/written.h"
#include "num/bf16.h"
#include "support/expect_error.h"

namespace saddle {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kM = 5, kN = 4, kK = 7;

// Of type T in device memory; bf16 numbers are uint16_t.
template <class T>
std::vector<T> encode(const std::vector<double>& values) {
  std::vector<T> encoded;
  for (const double x : values) {
    if constexpr (std::is_same_v<T, uint16_t>) {
      const float rounded = num::round_to_bf16(static_cast<float>(x));
      encoded.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16));
    } else {
      encoded.push_back(static_cast<T>(x));
    }
  }
  return encoded;
}

template <class T>
std::vector<double> decode(const std::vector<T>& values) {
  std::vector<double> decoded;
  for (const T x : values) {
    if constexpr (std::is_same_v<T, uint16_t>) {
      decoded.push_back(std::bit_cast<float>(static_cast<uint32_t>(x) << 16));
    } else {
      decoded.push_back(x);
    }
  }
  return decoded;
}

class Products : public EmulatedCuda {
 protected:
  std::vector<double> numbers(size_t count, uint64_t stream) {
    const RandomStream random(3, RandomPurpose::kTest, stream);
    std::vector<double> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = random.normal(i);
    return values;
  }

  // Computes `product` over numbers of type In and Out, batch after batch in memory, and compares
  // every number of D, also those between its columns, with plain loops in double.
  template <class In, class Out>
  void expect_product(const LtProduct& product, double alpha, double beta, double tolerance) {
    const auto batch = static_cast<size_t>(product.batch);
    const auto extent = [&](const LtMatrix& x) {
      return static_cast<size_t>(x.offset) * (batch - 1) +
             (x.cols - 1) * static_cast<size_t>(x.ld) + x.rows;
    };
    const auto a = encode<In>(numbers(extent(product.a), 1));
    const auto b = encode<In>(numbers(extent(product.b), 2));
    const auto c = encode<Out>(numbers(extent(product.d), 3));
    DeviceVector<In> device_a(a);
    DeviceVector<In> device_b(b);
    DeviceVector<Out> device_d(c);
    LtCall call(product);
    ASSERT_EQ(call.choose(), CUBLAS_STATUS_SUCCESS) << emulated::failure();
    const bool wide = product.compute == CUBLAS_COMPUTE_64F;
    const auto alpha_float = static_cast<float>(alpha);
    const auto beta_float = static_cast<float>(beta);
    const void* alpha_at = wide ? static_cast<const void*>(&alpha) : &alpha_float;
    const void* beta_at = wide ? static_cast<const void*>(&beta) : &beta_float;
    ASSERT_EQ(
        call.queue(alpha_at, device_a.data(), device_b.data(), beta_at, device_d.data(), stream_),
        CUBLAS_STATUS_SUCCESS)
        << emulated::failure();
    stream_.wait();

    const std::vector<double> da = decode(a);
    const std::vector<double> db = decode(b);
    std::vector<double> expected = decode(c);
    const auto at = [](const LtMatrix& x, size_t index, size_t row, size_t col, bool transpose) {
      if (transpose) std::swap(row, col);
      return index * static_cast<size_t>(x.offset) + row + col * static_cast<size_t>(x.ld);
    };
    const size_t k = product.transpose_a ? product.a.rows : product.a.cols;
    for (size_t index = 0; index < batch; ++index) {
      for (size_t i = 0; i < product.d.rows; ++i) {
        for (size_t j = 0; j < product.d.cols; ++j) {
          double sum = 0;
          for (size_t l = 0; l < k; ++l) {
            sum += da[at(product.a, index, i, l, product.transpose_a)] *
                   db[at(product.b, index, l, j, product.transpose_b)];
          }
          double& x = expected[at(product.d, index, i, j, false)];
          x = alpha * sum + beta * x;
        }
      }
    }
    const std::vector<double> found = decode(device_d.to_host());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "number " << i;
    }
  }

  // D [kM, kN] = A B with gaps between the columns; a batch of `batch`, one after another.
  static LtProduct product(bool transpose_a, bool transpose_b, int32_t batch = 1) {
    LtProduct made{.a = transpose_a ? LtMatrix{kK, kM, kK + 1} : LtMatrix{kM, kK, kM + 3},
                   .b = transpose_b ? LtMatrix{kN, kK, kN} : LtMatrix{kK, kN, kK + 2},
                   .d = {kM, kN, kM + 1}};
    made.transpose_a = transpose_a;
    made.transpose_b = transpose_b;
    made.batch = batch;
    for (LtMatrix* x : {&made.a, &made.b, &made.d}) {
      x->offset = x->ld * static_cast<int64_t>(x->cols) + 5;
    }
    return made;
  }

  static void set_types(LtProduct* made, cudaDataType inputs, cudaDataType outputs) {
    made->a.type = made->b.type = inputs;
    made->d.type = outputs;
  }

  // Expects that the call is refused with this message.
  void expect_refused(const LtProduct& made, cublasStatus_t status, const std::string& message) {
    LtCall call(made);
    EXPECT_EQ(call.choose(), status);
    EXPECT_THAT(cublasLtGetStatusString(status), HasSubstr(message));
    const float one = 1;
    float* const somewhere = memory_.data();
    EXPECT_EQ(call.queue(&one, somewhere, somewhere, &one, somewhere, stream_), status);
    EXPECT_THAT(cublasLtGetStatusString(status), HasSubstr(message));
  }

  Stream stream_;
  DeviceVector<float> memory_{1000};
};

// Sums of seven products of numbers of size 1, in one rounding each.
constexpr double kFloatTolerance = 1e-5;

TEST_F(Products, OfFloatWithEveryTransposeAndBatch) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const int32_t batch : {1, 3}) {
        const LtProduct made = product(transpose_a, transpose_b, batch);
        expect_product<float, float>(made, 1, 0, kFloatTolerance);
        expect_product<float, float>(made, -0.5, 1, kFloatTolerance);
      }
    }
  }
}

TEST_F(Products, OfDouble) {
  LtProduct made = product(true, false, 2);
  made.compute = CUBLAS_COMPUTE_64F;
  set_types(&made, CUDA_R_64F, CUDA_R_64F);
  expect_product<double, double>(made, 2, 0.25, 1e-14);
}

TEST_F(Products, OfBf16) {
  LtProduct made = product(false, true, 2);
  set_types(&made, CUDA_R_16BF, CUDA_R_32F);
  expect_product<uint16_t, float>(made, 1, 1, kFloatTolerance);
  set_types(&made, CUDA_R_16BF, CUDA_R_16BF);
  expect_product<uint16_t, uint16_t>(made, 1, 0, 0x1p-8);  // half a unit of 8 bits, twice
}

TEST_F(Products, OfSharedOperandsAndInterleavedResults) {
  LtProduct made = product(false, false, 3);
  made.a.offset = 0;
  made.d = {kM, kN, 3 * kM + 1};
  made.d.offset = kM;  // the matrices of D next to each other, as heads in a row
  expect_product<float, float>(made, 1, 0, kFloatTolerance);
}

// 1 + 2^-11 is rounded to 1, 1 + 3 * 2^-11 to 1 + 2^-9 (ties to even).
TEST_F(Products, InTf32RoundTheirInputs) {
  LtProduct made{.a = {2, 1, 2}, .b = {1, 1, 1}, .d = {2, 1, 2}};
  DeviceVector<float> a(std::vector<float>{1 + 0x1p-11f, 1 + 3 * 0x1p-11f});
  DeviceVector<float> b(std::vector<float>{1});
  DeviceVector<float> d(2);
  const float one = 1;
  const float zero = 0;
  for (const auto compute : {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32}) {
    made.compute = compute;
    LtCall call(made);
    call.choose();
    call.queue(&one, a.data(), b.data(), &zero, d.data(), stream_);
    stream_.wait();
    const bool strict = compute == CUBLAS_COMPUTE_32F;
    EXPECT_EQ(d.to_host()[0], strict ? 1 + 0x1p-11f : 1);
    EXPECT_EQ(d.to_host()[1], strict ? 1 + 3 * 0x1p-11f : 1 + 0x1p-9f);
  }
}

TEST_F(Products, OfPointersAndFactorsInDeviceMemory) {
  LtProduct made{.a = {2, 2, 2}, .b = {2, 2, 2}, .d = {2, 2, 2}};
  made.batch = 2;
  made.pointers = made.device_factors = true;
  made.alignment = 4;
  DeviceVector<float> x(std::vector<float>{1, 0, 0, 1, 5, 6, 7, 8, 2, 0, 0, 2});
  DeviceVector<float> d(8);
  DeviceVector<const float*> a(std::vector<const float*>{x.data(), x.data() + 8});
  DeviceVector<const float*> b(std::vector<const float*>{x.data() + 4, x.data() + 4});
  DeviceVector<float*> to(std::vector<float*>{d.data() + 4, d.data()});
  DeviceVector<float> factors(std::vector<float>{3, 0});
  LtCall call(made);
  ASSERT_EQ(call.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(call.queue(factors.data(), a.data(), b.data(), factors.data() + 1, to.data(), stream_),
            CUBLAS_STATUS_SUCCESS);
  stream_.wait();
  EXPECT_EQ(d.to_host(), (std::vector<float>{30, 36, 42, 48, 15, 18, 21, 24}));
}

TEST_F(Products, AreQueuedAndCounted) {
  emulated::reset_counters();
  LtCall call(product(false, false));
  DeviceVector<float> x(std::vector<float>(200, 1.0f));
  DeviceVector<float> d(kN * (kM + 1));
  const float one = 1;
  const float zero = 0;
  call.choose();
  EXPECT_EQ(emulated::counters().library_calls, 0);
  call.queue(&one, x.data(), x.data(), &zero, d.data(), stream_);
  EXPECT_EQ(emulated::counters().library_calls, 1);
  EXPECT_TRUE(std::isnan(d.to_host()[0]));  // another stream does not wait for this one
  stream_.wait();
  EXPECT_EQ(d.to_host()[0], kK);
}

TEST_F(Products, ReadCOnlyIfItCounts) {
  LtCall call(product(false, false));
  DeviceVector<float> x(std::vector<float>(200, 1.0f));
  const float one = 1;
  for (const float beta : {0.0f, 1.0f}) {
    DeviceVector<float> d(kN * (kM + 1));  // NaN
    call.choose();
    call.queue(&one, x.data(), x.data(), &beta, d.data(), stream_);
    stream_.wait();
    EXPECT_EQ(std::isnan(d.to_host()[0]), beta != 0);
  }
}

TEST_F(Products, OfWhatNothingWroteAreFound) {
  LtProduct made{.a = {kM, kK, kM}, .b = {kK, kN, kK}, .d = {kM, kN, kM}};
  std::vector<float> most(kM * kK - 1, 1.0f);
  DeviceVector<float> a(kM * kK);
  must(cudaMemcpy(a.data(), most.data(), most.size() * sizeof(float), cudaMemcpyHostToDevice));
  DeviceVector<float> b(std::vector<float>(kK * kN, 1.0f));
  DeviceVector<float> d(kM * kN);
  LtCall call(made);
  const float one = 1;
  const float zero = 0;
  call.choose();
  call.queue(&one, a.data(), b.data(), &zero, d.data(), stream_);
  stream_.wait();
  EXPECT_THAT(written(d).message(), HasSubstr("number 4 of 20 is as in fresh memory"));
}

TEST_F(Products, WithAWrongLeadingDimensionAreRefused) {
  LtProduct made = product(false, false);
  made.b.ld = kK - 1;
  expect_refused(made, CUBLAS_STATUS_INVALID_VALUE,
                 "B: the leading dimension 6 is less than its 7 rows");
}

// Large enough, but beyond the memory that is there.
TEST_F(Products, WithALeadingDimensionThatLeavesTheMemoryAreFound) {
  LtProduct made{.a = {kM, kK, 100}, .b = {kK, kN, kK}, .d = {kM, kN, kM}};
  LtCall call(made);
  DeviceVector<float> x(std::vector<float>(100, 1.0f));
  const float one = 1;
  const float zero = 0;
  ASSERT_EQ(call.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(call.queue(&one, x.data(), memory_.data(), &zero, memory_.data() + 500, stream_),
            CUBLAS_STATUS_SUCCESS);
  expect_error(
      ErrorKind::kDevice,
      {"cublasLtMatmul: A (5 x 7, leading dimension 100, number 0 of 1): it ends 2020 bytes "
       "beyond an allocation of 400 bytes"},
      [this] { stream_.wait(); });
}

TEST_F(Products, OfWrongShapesAreRefused) {
  LtProduct made = product(false, false);
  made.b.rows = kK + 1;
  expect_refused(made, CUBLAS_STATUS_INVALID_VALUE,
                 "op(A) is 5 x 7, op(B) 8 x 4, C 5 x 4, D 5 x 4");
  made = product(false, false);
  made.transpose_a = true;
  expect_refused(made, CUBLAS_STATUS_INVALID_VALUE, "op(A) is 7 x 5, op(B) 7 x 4");
  made = product(false, false);
  made.a.cols = 0;
  expect_refused(made, CUBLAS_STATUS_INVALID_VALUE, "A: 5 x 0 is empty");
}

TEST_F(Products, OfOtherTypesAreRefused) {
  LtProduct made = product(false, false);
  set_types(&made, CUDA_R_32F, CUDA_R_16BF);
  expect_refused(made, CUBLAS_STATUS_NOT_SUPPORTED,
                 "A float, B float, C bf16, D bf16, computed in 68, scaled in float");
  set_types(&made, CUDA_R_16BF, CUDA_R_32F);
  made.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  expect_refused(made, CUBLAS_STATUS_NOT_SUPPORTED, "A bf16, B bf16, C float, D float");
  made = product(false, false);
  made.a.type = CUDA_R_16BF;
  expect_refused(made, CUBLAS_STATUS_NOT_SUPPORTED, "A bf16, B float");
}

TEST_F(Products, WhoseResultsOverlapAreRefused) {
  LtProduct made = product(false, false, 3);
  made.d.offset = kM - 1;
  expect_refused(made, CUBLAS_STATUS_INVALID_VALUE, "matrices of D, 4 numbers apart, overlap");
  made.d.offset = 0;
  expect_refused(made, CUBLAS_STATUS_INVALID_VALUE, "matrices of D, 0 numbers apart, overlap");
}

TEST_F(Products, OfMisalignedMatricesAreRefused) {
  LtCall call(product(false, false));
  const float one = 1;
  float* const x = memory_.data();
  ASSERT_EQ(call.choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.queue(&one, x, x + 101, &one, x + 200, stream_), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_THAT(emulated::failure(), HasSubstr("B is not aligned to 16 bytes"));
  EXPECT_EQ(call.queue(&one, x, x + 100, &one, x + 203, stream_), CUBLAS_STATUS_INVALID_VALUE);
}

// Pointers that are in device memory are known only when the product runs.
TEST_F(Products, OfMisalignedPointersAreFound) {
  LtProduct made{.a = {2, 2, 2}, .b = {2, 2, 2}, .d = {2, 2, 2}};
  made.batch = 2;
  made.pointers = true;
  float* const x = memory_.data();
  DeviceVector<float*> aligned(std::vector<float*>{x, x + 4});
  DeviceVector<float*> misaligned(std::vector<float*>{x + 100, x + 105});
  LtCall call(made);
  const float one = 1;
  ASSERT_EQ(call.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(call.queue(&one, aligned.data(), aligned.data(), &one, misaligned.data(), stream_),
            CUBLAS_STATUS_SUCCESS);
  expect_error(ErrorKind::kDevice, {"C (number 1 of 2) is not aligned to 16 bytes"},
               [this] { stream_.wait(); });
}

TEST_F(Products, OverwriteTheirWorkspace) {
  LtProduct made = product(false, false);
  made.workspace = 256;
  LtCall call(made);
  ASSERT_EQ(call.choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.chosen().workspaceSize, 256u);
  const float one = 1;
  float* const x = memory_.data();
  EXPECT_EQ(call.queue(&one, x, x, &one, x + 500, stream_, x + 800, 255),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_THAT(emulated::failure(), HasSubstr("needs a workspace of 256 bytes, got 255"));
  EXPECT_EQ(call.queue(&one, x, x, &one, x + 500, stream_, x + 801, 256),
            CUBLAS_STATUS_INVALID_VALUE);
  must(cudaMemsetAsync(x, 0, 1000 * sizeof(float), stream_));
  ASSERT_EQ(call.queue(&one, x, x, &one, x + 500, stream_, x + 800, 256), CUBLAS_STATUS_SUCCESS);
  stream_.wait();
  EXPECT_TRUE(std::isnan(memory_.to_host()[800]));
  EXPECT_EQ(memory_.to_host()[864], 0);
}

TEST_F(Products, RefuseAnAlgorithmForAnotherKind) {
  LtProduct made{.a = {4, 4, 4}, .b = {4, 4, 4}, .d = {4, 4, 4}};
  LtCall plain(made);
  made.transpose_a = true;
  LtCall transposed(made);
  ASSERT_EQ(plain.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(transposed.choose(), CUBLAS_STATUS_SUCCESS);
  transposed.take_algorithm_of(plain);
  const float one = 1;
  float* const x = memory_.data();
  EXPECT_EQ(transposed.queue(&one, x, x, &one, x + 500, stream_), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_THAT(emulated::failure(), HasSubstr("the algorithm was chosen for other types"));
}

}  // namespace
}  // namespace saddle
