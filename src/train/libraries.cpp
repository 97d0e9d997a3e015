#include "train/libraries.h"

#include "backend/gemm.h"
#include "data/tokenizer.h"

namespace saddle::train {

Json library_versions() {
  return {{"products_float32", backend::product_library<float>()},
          {"products_bf16", backend::product_library<num::Bf16>()},
          {"products_float64", backend::product_library<double>()},
          {"tokenizer", data::tokenizer_library()}};
}

}  // namespace saddle::train
