// The rope tables of a model in one number type, kept by the execution.
#pragma once

#include "backend/tensor.h"
#include "config/settings.h"
#include "ops/rope.h"

namespace saddle::model {

template <class T>
class RopeCache {
 public:
  RopeCache(backend::Context& context, const config::ModelSettings& model)
      : cos_(context, 1, model.context_length, model.head_dim() / 2),
        sin_(context, 1, model.context_length, model.head_dim() / 2) {
    ops::rope_tables<T>(context, model.rope_theta, cos_, sin_);
  }

  ops::RopeTables<T> tables() const { return {cos_, sin_}; }

 private:
  backend::Tensor<T> cos_;
  backend::Tensor<T> sin_;
};

}  // namespace saddle::model
