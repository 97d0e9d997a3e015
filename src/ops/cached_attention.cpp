#include "ops/cached_attention.h"

#include "ops/attention_wave.h"

namespace saddle::ops {

template <class T>
void cached_attention_forward(Context& context, int64_t heads, View<const T> q, View<const T> k,
                              View<const T> v, View<T> o) {
  check_shape(heads > 0 && q.cols() % heads == 0 && q.rows() <= k.rows(), "cached_attention", "q");
  check_shape(k.same_shape(q.workers(), k.rows(), q.cols()) &&
                  v.same_shape(k.workers(), k.rows(), k.cols()),
              "cached_attention", "k or v");
  check_shape(o.same_shape(q.workers(), q.rows(), q.cols()), "cached_attention", "o");
  const int64_t size = q.cols() / heads;
  const int64_t before = k.rows() - q.rows();
  for_waves(context, q.workers(), 1, heads, query_blocks(q.rows()),
            [&](Context& lane, const Wave& wave, int64_t i) {
              const auto [first, rows] = query_block(q.rows(), i);
              const int64_t keys = before + first + rows;  // that the last of these queries sees
              backend::Workspace::Scope scope(lane.workspace());
              const ScoreSlab<T> p{scratch<T>(scope, wave.items() * rows * keys), wave.items(),
                                   before + first, rows, keys};
              wave_probabilities<T>(lane, wave, size, operand_of(q, wave, q.rows(), size, first),
                                    operand_of(k, wave, k.rows(), size), p, p);
              wave_product<T>(lane, wave, Transpose::kNo, Transpose::kNo, rows, size, keys, 1,
                              operand_of(p, wave), operand_of(v, wave, k.rows(), size), 0,
                              operand_of(o, wave, q.rows(), size, first));
            });
}

template decltype(cached_attention_forward<float>) cached_attention_forward<float>;
template decltype(cached_attention_forward<double>) cached_attention_forward<double>;

}  // namespace saddle::ops
