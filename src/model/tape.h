// A tape for operation-by-operation execution: every operation allocates its result, runs at once,
// and records how its adjoint runs; the records are then played backwards.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backend/tensor.h"
#include "ops/elementwise.h"

namespace saddle::model {

using backend::Context;
using backend::Tensor;
using tensor::View;

// A value of the calculation; its adjoint is allocated when it is first used.
template <class S>
struct Node {
  Tensor<S> value_memory;
  Tensor<S> adjoint_memory;
  View<S> value;
  View<S> adjoint;
};

template <class S>
using Variable = std::shared_ptr<Node<S>>;

template <class S>
class Tape {
 public:
  // Without `records`, adjoints are not recorded and memory is freed as early as possible.
  Tape(Context& context, bool records) : context_(context), records_(records) {}

  Context& context() { return context_; }
  bool records() const { return records_; }

  // A new value, zero.
  Variable<S> make(int64_t workers, int64_t rows, int64_t cols) {
    auto node = std::make_shared<Node<S>>();
    node->value_memory = Tensor<S>(context_, workers, rows, cols);
    node->value = node->value_memory.view();
    return node;
  }
  Variable<S> make_like(const Variable<S>& x) {
    return make(x->value.workers(), x->value.rows(), x->value.cols());
  }

  // A parameter: its value and the place where its gradient is accumulated.
  Variable<S> parameter(View<S> value, View<S> gradient) {
    auto node = std::make_shared<Node<S>>();
    node->value = value;
    node->adjoint = gradient;
    return node;
  }

  // The adjoint of a value, zero if nothing has been added to it.
  View<S> adjoint(const Variable<S>& x) {
    if (x->adjoint.empty()) {
      x->adjoint_memory = Tensor<S>(context_, x->value.workers(), x->value.rows(), x->value.cols());
      x->adjoint = x->adjoint_memory.view();
    }
    return x->adjoint;
  }

  // Temporary memory of the shape of x.
  Tensor<S> temporary(const Variable<S>& x) {
    return Tensor<S>(context_, x->value.workers(), x->value.rows(), x->value.cols());
  }

  // `name` and `operations`, as in region(), are for a profile.
  void on_adjoint(const char* name, double operations, std::function<void()> step) {
    if (records_) adjoints_.push_back({name, operations, std::move(step)});
  }

  // Records a forward operation in the profile, if there is one, for the duration of a scope;
  // `operations` are those of its products (model/operation_counts.h).
  backend::ProfiledRegion region(const char* name, double operations = 0) const {
    return {context_.profile(), "forward", name, operations};
  }

  // Plays the records backwards and drops each one after it has run.
  void play_backwards() {
    while (!adjoints_.empty()) {
      const Note& note = adjoints_.back();
      const backend::ProfiledRegion region(context_.profile(), "adjoint", note.name,
                                           note.operations);
      note.run();
      adjoints_.pop_back();
    }
  }

 private:
  struct Note {
    const char* name;
    double operations;
    std::function<void()> run;
  };

  Context& context_;
  bool records_;
  std::vector<Note> adjoints_;
};

}  // namespace saddle::model
