#include "ops/attention_second_order.h"

#include "ops/attention_wave.h"

namespace saddle::ops {
namespace {

// A block of queries of a wave: what all directions share, and room for one direction.
template <class T>
struct Block {
  Block(backend::Workspace::Scope& scope, AttentionShape shape, const Wave& wave,
        QueryBlock queries)
      : first(queries.first), rows(queries.rows), keys(first + rows) {
    const auto slab = [&] {
      return ScoreSlab<T>{scratch<T>(scope, wave.items() * rows * keys), wave.items(), first, rows,
                          keys};
    };
    p = slab();
    ds = slab();
    s_t = slab();
    rounded = shape.round_probabilities ? slab() : p;
    narrow = scratch<T>(scope, wave.items() * rows * shape.head_size);
  }

  int64_t first;
  int64_t rows;
  int64_t keys;
  ScoreSlab<T> p;
  ScoreSlab<T> rounded;  // p as multiplied by the values; p itself unless it is rounded
  ScoreSlab<T> ds;
  ScoreSlab<T> s_t;  // p_t later
  Span<T> narrow{};  // [items, rows, h]
};

// q, k, v, do of a wave, and the tangents of one direction.
template <class T>
struct Inputs {
  View<const T> q, k, v, d_o;
};
template <class T>
struct Tangents {
  View<const T> q, k, v;
  View<T> o;
};

template <class T>
class WaveSweep {
 public:
  WaveSweep(Context& context, AttentionShape shape, const Wave& wave, const Inputs<T>& at,
            const Block<T>& block)
      : context_(context), shape_(shape), wave_(wave), at_(at), block_(block) {}

  // p, rounded and ds.
  void begin() {
    wave_probabilities<T>(context_, wave_, shape_.head_size, queries(at_.q, wave_),
                          keys(at_.k, wave_), block_.p, block_.p);
    wave_product<T>(context_, wave_, Transpose::kNo, Transpose::kYes, block_.rows, block_.keys,
                    shape_.head_size, 1, queries(at_.d_o, wave_), keys(at_.v, wave_), 0,
                    operand_of(block_.ds, wave_));
    for_rows(context_, slab_rows("attention_softmax_adjoint", block_.p, bytes_of<T, T, T>()),
             SlabSoftmaxAdjoint<T>{block_.p, block_.ds, block_.ds});
    if (shape_.round_probabilities) wave_round(context_, block_.p, block_.rounded);
  }

  // Writes o_t of the block's queries along direction g, and their terms [items, rows].
  void sweep(const Tangents<T>& t, int64_t g, double* terms) {
    const auto& [first, rows, seen, p, rounded, ds, s_t, narrow] = block_;
    const Wave along = wave_.of_worker(g);  // directions are on the worker axis
    const int64_t size = shape_.head_size;
    const T scale = score_scale<T>(size);
    const WaveOperand<T> s_items = operand_of(s_t, wave_);
    const WaveOperand<T> narrow_items = operand_of(narrow, wave_, rows, size);
    multiply(Transpose::kYes, seen, size, scale, queries(t.q, along), keys(at_.k, wave_), 0,
             s_items);
    multiply(Transpose::kYes, seen, size, scale, queries(at_.q, wave_), keys(t.k, along), 1,
             s_items);
    for_rows(context_, slab_rows("attention_softmax_second_order", p, bytes_of<T, T, T, T>()),
             SlabSoftmaxSecondOrder<T>{p, ds, s_t, terms});
    multiply(Transpose::kNo, size, seen, 1, operand_of(ds, wave_), keys(t.k, along), 0,
             narrow_items);
    add_dots(2 * static_cast<double>(scale), t.q, along, terms);
    multiply(Transpose::kNo, size, seen, 1, s_items, keys(t.v, along), 0, narrow_items);
    add_dots(2, at_.d_o, wave_, terms);
    const WaveOperand<T> o_items = operand_of(t.o, along, shape_.positions, size, first);
    multiply(Transpose::kNo, size, seen, 1, s_items, keys(at_.v, wave_), 0, o_items);
    multiply(Transpose::kNo, size, seen, 1, operand_of(rounded, wave_), keys(t.v, along), 1,
             o_items);
  }

 private:
  WaveOperand<const T> queries(View<const T> x, const Wave& wave) const {
    return operand_of(x, wave, shape_.positions, shape_.head_size, block_.first);
  }
  WaveOperand<const T> keys(View<const T> x, const Wave& wave) const {
    return operand_of(x, wave, shape_.positions, shape_.head_size);
  }
  // C [rows, n] = alpha A op(B) + beta C for each item.
  void multiply(Transpose b, int64_t n, int64_t k, T alpha, WaveOperand<const T> A,
                WaveOperand<const T> B, T beta, WaveOperand<T> C) {
    wave_product<T>(context_, wave_, Transpose::kNo, b, block_.rows, n, k, alpha, A, B, beta, C);
  }
  // terms += factor <narrow, x> for every query.
  void add_dots(double factor, View<const T> x, const Wave& wave, double* terms) {
    const int64_t size = shape_.head_size;
    for_rows(context_, {"attention_dot", 1, block_.p.rows(), size, 2 * size * bytes_of<T>()},
             SlabDot<T>{block_.rows, block_.narrow.data,
                        matrices_of(x, wave, shape_.positions, size, block_.first), factor, terms});
  }

  Context& context_;
  AttentionShape shape_;
  Wave wave_;
  Inputs<T> at_;
  const Block<T>& block_;
};

}  // namespace

template <class T>
void attention_second_order(Context& context, AttentionShape shape, View<const T> q,
                            View<const T> k, View<const T> v, View<const T> d_o, View<const T> q_t,
                            View<const T> k_t, View<const T> v_t, View<T> o_t, Forms forms) {
  const int64_t rows = shape.sequences * shape.positions;
  const int64_t width = shape.heads * shape.head_size;
  const int64_t directions = q_t.workers();
  for (const View<const T>& x : {q, k, v, d_o}) {
    check_shape(x.same_shape(1, rows, width), "attention_second_order", "q, k, v or do");
  }
  for (const View<const T>& x : {q_t, k_t, v_t, View<const T>(o_t)}) {
    check_shape(x.same_shape(directions, rows, width), "attention_second_order", "a tangent");
  }
  check_shape(forms.same_shape(directions, 1, 1), "attention_second_order", "forms");
  backend::Workspace::Scope scope(context.workspace());
  // Of each query of each head, in the order of blocks, sequences and heads.
  const View<double> terms = scratch_view<double>(scope, directions, rows * shape.heads, 1);
  for_waves(context, 1, shape.sequences, shape.heads, query_blocks(shape.positions),
            [&](Context& lane, const Wave& wave, int64_t i) {
              const QueryBlock queries = query_block(shape.positions, i);
              backend::Workspace::Scope room(lane.workspace());
              const Block<T> block(room, shape, wave, queries);
              WaveSweep<T> sweep(lane, shape, wave, {q, k, v, d_o}, block);
              sweep.begin();
              const int64_t items = shape.sequences * shape.heads;
              const int64_t before = wave.first_sequence * shape.heads + wave.first_head;
              const int64_t place = queries.first * items + before * queries.rows;
              for (int64_t g = 0; g < directions; ++g) {
                sweep.sweep({q_t, k_t, v_t, o_t}, g, terms.row(g, place).data);
              }
            });
  add_sum<double>(context, terms, forms);
}

template decltype(attention_second_order<float>) attention_second_order<float>;
template decltype(attention_second_order<double>) attention_second_order<double>;

}  // namespace saddle::ops
