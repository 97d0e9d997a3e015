#include "backend/cpu/bf16_products.h"

#include <omp.h>
#include <dnnl.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <type_traits>

#include "backend/cpu/bf16_copies.h"
#include "backend/cpu/float_products.h"
#include "backend/cpu/libraries.h"
#include "backend/parallel.h"
#include "base/error.h"

namespace saddle::backend::cpu {
namespace {

using num::Bf16;

// Sets what oneDNN may use for the duration of a scope.
class TeamLimit {
 public:
  explicit TeamLimit(int threads) : before_(omp_get_max_threads()) { limit_team(threads); }
  TeamLimit(const TeamLimit&) = delete;
  TeamLimit& operator=(const TeamLimit&) = delete;
  ~TeamLimit() { omp_set_num_threads(before_); }

 private:
  int before_;
};

const dnnl::engine& engine() {
  static const dnnl::engine processor(dnnl::engine::kind::cpu, 0);
  return processor;
}

// What oneDNN makes for a shape. It divides the work among the threads that it finds then, so it is
// used with the same number.
struct Primitive {
  dnnl::memory::desc a, b, c;
  dnnl::matmul product;
  dnnl::memory::desc scratch;
};

using Key = std::tuple<bool, bool, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, float,
                       float, bool, int>;

// A row-major matrix [rows, cols], seen as its transpose if `turned`.
dnnl::memory::desc matrix(dnnl::memory::data_type type, int64_t rows, int64_t cols, int64_t ld,
                          bool turned) {
  const dnnl::memory::dims strides = turned ? dnnl::memory::dims{1, ld} : dnnl::memory::dims{ld, 1};
  return {{rows, cols}, type, strides};
}

template <class R>
std::unique_ptr<Primitive> make_primitive(const GemmCall<Bf16, R>& call) {
  using Type = dnnl::memory::data_type;
  auto made = std::make_unique<Primitive>();
  made->a = matrix(Type::bf16, call.m, call.k, call.lda, call.transpose_a == Transpose::kYes);
  made->b = matrix(Type::bf16, call.k, call.n, call.ldb, call.transpose_b == Transpose::kYes);
  made->c =
      matrix(std::is_same_v<R, float> ? Type::f32 : Type::bf16, call.m, call.n, call.ldc, false);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (call.alpha != 1) attributes.set_output_scales(0, {call.alpha});
  if (call.beta != 0) {
    dnnl::post_ops sum;
    sum.append_sum(call.beta);
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::primitive_desc description({made->a, made->b, made->c}, attributes, engine());
  made->product = dnnl::matmul(description);
  made->scratch = description.scratchpad_desc();
  return made;
}

// The primitive for a product with `threads` threads, made on first use.
template <class R>
const Primitive& primitive_for(const GemmCall<Bf16, R>& call, int threads) {
  static std::mutex mutex;
  static std::map<Key, std::unique_ptr<Primitive>> known;
  const Key key{call.transpose_a == Transpose::kYes,
                call.transpose_b == Transpose::kYes,
                call.m,
                call.n,
                call.k,
                call.lda,
                call.ldb,
                call.ldc,
                call.alpha,
                call.beta,
                std::is_same_v<R, float>,
                threads};
  const std::lock_guard lock(mutex);
  std::unique_ptr<Primitive>& primitive = known[key];
  if (primitive == nullptr) primitive = make_primitive(call);
  return *primitive;
}

template <class R>
void multiply_by_instructions(Context& context, const GemmCall<Bf16, R>& call, int threads) {
  const TeamLimit limit(threads);
  const Primitive& primitive = primitive_for(call, threads);
  Workspace::Scope scope(context.workspace());
  void* scratch = scope.take<char>(static_cast<int64_t>(primitive.scratch.get_size()));
  if (context.measuring()) return;
  const auto memory = [](const dnnl::memory::desc& desc, const void* at) {
    return dnnl::memory(desc, engine(), const_cast<void*>(at));
  };
  const bool shared = threads > 1 && context.profile() != nullptr;
  const int64_t begin = shared ? context.profile()->now() : 0;
  dnnl::stream stream(engine());
  primitive.product.execute(stream, {{DNNL_ARG_SRC, memory(primitive.a, call.A)},
                                     {DNNL_ARG_WEIGHTS, memory(primitive.b, call.B)},
                                     {DNNL_ARG_DST, memory(primitive.c, call.C)},
                                     {DNNL_ARG_SCRATCHPAD, memory(primitive.scratch, scratch)}});
  stream.wait();
  if (shared) note_shares(*context.profile(), begin);
}

// Copies the rows of a matrix; `cols` of each.
template <class From, class To>
void copy_matrix(Context& context, const From* from, int64_t ld_from, int64_t rows, int64_t cols,
                 To* to, int64_t ld_to) {
  constexpr int64_t kRows = 16;
  parallel_for(context, (rows + kRows - 1) / kRows, [&](int64_t block) {
    const int64_t end = std::min(rows, (block + 1) * kRows);
    for (int64_t row = block * kRows; row < end; ++row) {
      copy_numbers(from + row * ld_from, cols, to + row * ld_to);
    }
  });
}

template <class R>
void multiply_in_float(Context& context, const GemmCall<Bf16, R>& call) {
  Workspace::Scope scope(context.workspace());
  const bool turned_a = call.transpose_a == Transpose::kYes;
  const bool turned_b = call.transpose_b == Transpose::kYes;
  GemmCall<float> product{{},     call.transpose_a, call.transpose_b, call.m, call.n,
                          call.k, call.alpha,       nullptr,          0,      nullptr,
                          0,      call.beta,        nullptr,          0};
  const int64_t rows_a = turned_a ? call.k : call.m;
  const int64_t rows_b = turned_b ? call.n : call.k;
  product.lda = turned_a ? call.m : call.k;
  product.ldb = turned_b ? call.k : call.n;
  auto* const a = scope.take<float>(rows_a * product.lda);
  auto* const b = scope.take<float>(rows_b * product.ldb);
  product.A = a;
  product.B = b;
  if constexpr (std::is_same_v<R, float>) {
    product.C = call.C;
    product.ldc = call.ldc;
  } else {
    product.C = scope.take<float>(call.m * call.n);
    product.ldc = call.n;
  }
  if (context.measuring()) return;
  copy_matrix(context, call.A, call.lda, rows_a, product.lda, a, product.lda);
  copy_matrix(context, call.B, call.ldb, rows_b, product.ldb, b, product.ldb);
  if constexpr (std::is_same_v<R, Bf16>) {
    if (call.beta != 0) {
      copy_matrix(context, call.C, call.ldc, call.m, call.n, product.C, call.n);
    }
  }
  multiply_float(context, product);
  if constexpr (std::is_same_v<R, Bf16>) {
    copy_matrix(context, product.C, call.n, call.m, call.n, call.C, call.ldc);
  }
}

}  // namespace

bool has_bf16_products() {
  static const bool has = [] {
    constexpr auto kNeeded = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_bf16);
    return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & kNeeded) == kNeeded;
  }();
  return has;
}

template <class R>
void multiply_bf16(Context& context, const GemmCall<Bf16, R>& call) {
  if (!has_bf16_products()) return multiply_in_float(context, call);
  const bool alone = context.is_lane() || omp_in_parallel() != 0;
  try {
    multiply_by_instructions(context, call, alone ? 1 : context.threads());
  } catch (const dnnl::error& error) {
    fail(ErrorKind::kInternal, "oneDNN refused a bf16 product [{}, {}] x [{}, {}]: {}", call.m,
         call.k, call.k, call.n, error.message);
  }
}

template void multiply_bf16(Context&, const GemmCall<Bf16>&);
template void multiply_bf16(Context&, const GemmCall<Bf16, float>&);

}  // namespace saddle::backend::cpu
