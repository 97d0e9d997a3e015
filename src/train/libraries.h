// The libraries that do the computing, for the records of a run.
#pragma once

#include "base/json.h"

namespace saddle::train {

// Names with versions: {"products_float32": "oneDNN ...", "products_bf16": ..., "products_float64":
// "BLIS ...", "tokenizer": "SentencePiece ..."}.
Json library_versions();

}  // namespace saddle::train
