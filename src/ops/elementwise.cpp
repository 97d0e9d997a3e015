#include "ops/elementwise.h"

#include "ops/elementwise_rows.h"

namespace saddle::ops {
namespace {

// Runs a body over the pieces of the rows of `out`; `views`: of its size that the body reads or
// writes.
template <class S, class Body>
void for_pieces(Context& context, const char* name, View<S> out, int64_t views, const Body& body) {
  const Pieces pieces{out.cols()};
  const int64_t width = std::min(Pieces::kPiece, out.cols());
  for_rows(
      context,
      {name, out.workers(), out.rows() * pieces.per_row(), width, views * width * bytes_of<S>()},
      body);
}

template <class S>
void check_same(View<const S> x, View<S> out, const char* operation, const char* what) {
  check_shape(x.same_shape(out.workers(), out.rows(), out.cols()), operation, what);
}

}  // namespace

template <class S>
void fill(Context& context, double value, View<S> x) {
  for_pieces(context, "fill", x, 1,
             Elementwise<S, Constant<S>>{{S(static_cast<Plane<S>>(value))}, x});
}

template <class S>
void copy(Context& context, View<const S> x, View<S> y) {
  check_same(x, y, "copy", "x");
  for_pieces(context, "copy", y, 2, Elementwise<S, Same<S>, S>{{}, x, y});
}

template <class S>
void add_forward(Context& context, View<const S> x, View<const S> y, View<S> z) {
  check_same(x, z, "add_forward", "x");
  check_same(y, z, "add_forward", "y");
  for_pieces(context, "add", z, 3, Elementwise<S, Sum<S>, S, S>{{}, x, y, z});
}

template <class S>
void subtract(Context& context, View<const S> x, View<const S> y, View<S> z) {
  check_same(x, z, "subtract", "x");
  check_same(y, z, "subtract", "y");
  for_pieces(context, "subtract", z, 3, Elementwise<S, Difference<S>, S, S>{{}, x, y, z});
}

template <class S>
void accumulate(Context& context, View<const S> x, View<S> y) {
  add_forward<S>(context, x, y, y);
}

template <class S>
void add_scaled(Context& context, double factor, View<const S> x, View<S> y) {
  check_same(x, y, "add_scaled", "x");
  for_pieces(context, "add_scaled", y, 3,
             Elementwise<S, ScaledSum<S>, S, S>{{static_cast<Plane<S>>(factor)}, x, y, y});
}

template <class S>
void scale(Context& context, double factor, View<S> x) {
  for_pieces(context, "scale", x, 2, Elementwise<S, Scaled<S>>{{static_cast<Plane<S>>(factor)}, x});
}

template <class S>
void round_bf16(Context& context, View<const S> x, View<S> y) {
  check_same(x, y, "round_bf16", "x");
  for_pieces(context, "round_bf16", y, 2, Elementwise<S, RoundedToBf16<S>, S>{{}, x, y});
}

template <class L>
void store_as(Context& context, View<const Arithmetic<L>> x, View<L> y) {
  using S = Arithmetic<L>;
  check_shape(x.same_shape(y.workers(), y.rows(), y.cols()), "store_as", "x");
  const Pieces pieces{y.cols()};
  const int64_t width = std::min(Pieces::kPiece, y.cols());
  for_rows(context,
           {"store_as", y.workers(), y.rows() * pieces.per_row(), width, width * bytes_of<S, L>()},
           Elementwise<L, Same<S>, S>{{}, x, y});
}

template decltype(store_as<Bf16>) store_as<Bf16>;
#define SADDLE_INSTANTIATE(S)                       \
  template decltype(fill<S>) fill<S>;               \
  template decltype(copy<S>) copy<S>;               \
  template decltype(add_forward<S>) add_forward<S>; \
  template decltype(subtract<S>) subtract<S>;       \
  template decltype(accumulate<S>) accumulate<S>;   \
  template decltype(add_scaled<S>) add_scaled<S>;   \
  template decltype(scale<S>) scale<S>;             \
  template decltype(round_bf16<S>) round_bf16<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
