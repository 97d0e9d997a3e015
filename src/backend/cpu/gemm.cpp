#include "backend/gemm.h"

#include <blis-openmp/blis.h>
#include <blis-openmp/cblas.h>
#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <limits>

#include "backend/cpu/bf16_products.h"
#include "backend/cpu/float_products.h"
#include "backend/cpu/libraries.h"
#include "backend/cpu/processor.h"
#include "backend/gemm_choices.h"
#include "backend/parallel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/narrow.h"

namespace saddle::backend {
namespace {

CBLAS_TRANSPOSE cblas(Transpose t) {
  return t == Transpose::kYes ? CblasTrans : CblasNoTrans;
}

using Product = GemmCall<float>;

GemmShape shape_of(const Product& p) {
  return {p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.batch.count()};
}

void call_library(const Product& p) {
  const dnnl_status_t status = dnnl_sgemm(p.transpose_a == Transpose::kYes ? 'T' : 'N',
                                          p.transpose_b == Transpose::kYes ? 'T' : 'N', p.m, p.n,
                                          p.k, p.alpha, p.A, p.lda, p.B, p.ldb, p.beta, p.C, p.ldc);
  if (status != dnnl_success) {
    fail(ErrorKind::kInternal, "oneDNN refused a product [{}, {}] x [{}, {}] (status {})", p.m, p.k,
         p.k, p.n, static_cast<int>(status));
  }
}

Product rows_of(Product p, int64_t first, int64_t count) {
  p.A += p.transpose_a == Transpose::kYes ? first : first * p.lda;
  p.C += first * p.ldc;
  p.m = count;
  return p;
}

Product columns_of(Product p, int64_t first, int64_t count) {
  p.B += p.transpose_b == Transpose::kYes ? first * p.ldb : first;
  p.C += first;
  p.n = count;
  return p;
}

// One call with all threads; oneDNN 2.6 is about 5% slower on wide results of x W^T with about a
// thousand rows than on consecutive slices of this width.
void call_in_slices(const Product& p) {
  constexpr int64_t kWidth = 960;
  const bool slow = p.transpose_b == Transpose::kYes && p.n > kWidth && p.m >= 512 && p.m <= 2048;
  if (!slow) return call_library(p);
  const int64_t slices = (p.n + kWidth - 1) / kWidth;
  const int64_t width = ((p.n + slices - 1) / slices + 15) / 16 * 16;
  for (int64_t first = 0; first < p.n; first += width) {
    call_library(columns_of(p, first, std::min(width, p.n - first)));
  }
}

void run_one(Context& context, const Product& p, GemmSharing sharing) {
  if (sharing == GemmSharing::kLibrary) return call_in_slices(p);
  const bool rows = sharing == GemmSharing::kRows;
  const int64_t extent = rows ? p.m : p.n;
  // Shares of whole vector registers, so that each thread's part is regular.
  constexpr int64_t kUnit = 16;
  const int64_t units = (extent + kUnit - 1) / kUnit;
  const int64_t share = (units + context.threads() - 1) / context.threads() * kUnit;
  parallel_for(context, (extent + share - 1) / share, [&](int64_t i) {
    const int64_t first = i * share;
    const int64_t count = std::min(share, extent - first);
    call_library(rows ? rows_of(p, first, count) : columns_of(p, first, count));
  });
}

void run(Context& context, const Product& p, GemmSharing sharing) {
  const int64_t count = p.batch.count();
  if (sharing == GemmSharing::kProducts) {
    return parallel_for(context, count, [&](int64_t i) { call_library(p.at(i)); });
  }
  for (int64_t i = 0; i < count; ++i) run_one(context, p.at(i), sharing);
}

// Without tuning: whole products if every thread gets the same number of them, or so many that it
// matters little.
GemmSharing usual_sharing(const Context& context, int64_t count) {
  const int64_t threads = context.threads();
  const bool even = count % threads == 0 || count >= 4 * threads;
  return count > 1 && even ? GemmSharing::kProducts : GemmSharing::kLibrary;
}

// The way that takes the least time for these products, best of three each.
GemmSharing fastest_sharing(Context& context, const Product& p) {
  GemmSharing best = GemmSharing::kLibrary;
  double least = std::numeric_limits<double>::infinity();
  for (const GemmSharing sharing :
       {GemmSharing::kLibrary, GemmSharing::kRows, GemmSharing::kColumns, GemmSharing::kProducts}) {
    if (sharing == GemmSharing::kProducts && p.batch.count() == 1) continue;
    for (int i = 0; i < 3; ++i) {
      const Stopwatch watch;
      run(context, p, sharing);
      if (watch.seconds() < least) {
        least = watch.seconds();
        best = sharing;
      }
    }
  }
  return best;
}

}  // namespace

namespace {

std::string with_onednn_version(std::string_view numbers) {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}, {}", version->major, version->minor, version->patch,
                     numbers);
}

}  // namespace

template <>
std::string product_library<float>() {
  return with_onednn_version("float32");
}

template <>
std::string product_library<num::Bf16>() {
  return with_onednn_version(cpu::has_bf16_products() ? "bf16" : "bf16 copied to float32");
}

template <>
std::string product_library<double>() {
  return fmt::format("BLIS {}, float64", bli_info_get_version_str());
}

namespace {

// Counts a call, and passes it on unless it is for the processor: returns whether it is.
template <class T, class R>
bool is_for_processor(Context& context, const GemmCall<T, R>& call) {
  if (call.m == 0 || call.n == 0) return false;
  ++context.counters().products;
  if (context.on_host()) return true;
  if (!context.measuring()) context.device().multiply(call);
  return false;
}

template <class R>
void multiply_bf16_batch(Context& context, const GemmCall<num::Bf16, R>& call) {
  if (!is_for_processor(context, call)) return;
  const int64_t count = call.batch.count();
  const auto one = [&](Context& lane, int64_t i) { cpu::multiply_bf16(lane, call.at(i)); };
  const bool alone = context.is_lane() || omp_in_parallel() != 0;
  if (!alone && usual_sharing(context, count) == GemmSharing::kProducts) {
    return parallel_tasks(context, count, one);
  }
  for (int64_t i = 0; i < count; ++i) one(context, i);
}

}  // namespace

GemmChoices* gemm_choices(Context& context) {
  if (!context.on_host()) return nullptr;
  return &static_cast<cpu::Processor&>(context.device()).choices();
}

void cpu::multiply_float(Context& context, const GemmCall<float>& call) {
  if (context.is_lane() || omp_in_parallel() != 0) return call_in_slices(call);
  limit_team(context.threads());
  const int64_t begin = context.profile() == nullptr ? 0 : context.profile()->now();
  call_in_slices(call);
  if (context.profile() != nullptr) note_shares(*context.profile(), begin);
}

void cpu::note_shares(Profile& profile, int64_t begin) {
  const int64_t end = profile.now();
  for (int thread = 0; thread < profile.threads(); ++thread) profile.add_share(thread, begin, end);
}

void multiply(Context& context, const GemmCall<num::Bf16>& call) {
  multiply_bf16_batch(context, call);
}

void multiply(Context& context, const GemmCall<num::Bf16, float>& call) {
  multiply_bf16_batch(context, call);
}

void multiply(Context& context, const GemmCall<float>& call) {
  if (!is_for_processor(context, call) || context.measuring()) return;
  if (context.is_lane() || omp_in_parallel() != 0) {
    return run(context, call, GemmSharing::kLibrary);
  }
  // The number of library threads is a setting of the calling thread, and others may have changed
  // it. In a parallel loop the library uses one.
  cpu::limit_team(context.threads());
  GemmChoices& choices = *gemm_choices(context);
  const GemmShape shape = shape_of(call);
  const GemmSharing* choice = choices.find(shape);
  if (choice == nullptr && choices.tuning()) {
    choices.keep(shape, fastest_sharing(context, call));
    choice = choices.find(shape);
  }
  const GemmSharing sharing =
      choice == nullptr ? usual_sharing(context, call.batch.count()) : *choice;
  Profile* const profile = context.profile();
  const int64_t begin = profile == nullptr ? 0 : profile->now();
  run(context, call, sharing);
  if (profile != nullptr && sharing == GemmSharing::kLibrary) cpu::note_shares(*profile, begin);
}

void multiply(Context& context, const GemmCall<double>& call) {
  if (!is_for_processor(context, call) || context.measuring()) return;
  // BLIS runs each share of the rows on one thread, and the shares do not depend on the number of
  // threads: neither do the sums.
  constexpr int64_t kRows = 64;
  const int columns = narrow<int>(call.n);
  const int inner = narrow<int>(call.k);
  const int stride_a = narrow<int>(call.lda);
  const int stride_b = narrow<int>(call.ldb);
  const int stride_c = narrow<int>(call.ldc);
  const int64_t shares = (call.m + kRows - 1) / kRows;
  parallel_for(context, call.batch.count() * shares, [&](int64_t i) {
    const GemmCall<double> one = call.at(i / shares);
    const int64_t first = i % shares * kRows;
    const auto rows = static_cast<int>(std::min(kRows, call.m - first));
    const bool turned = call.transpose_a == Transpose::kYes;
    cblas_dgemm(CblasRowMajor, cblas(call.transpose_a), cblas(call.transpose_b), rows, columns,
                inner, call.alpha, one.A + (turned ? first : first * call.lda), stride_a, one.B,
                stride_b, call.beta, one.C + first * call.ldc, stride_c);
  });
}

}  // namespace saddle::backend
