// Weight files: safetensors with exactly the canonical parameter names (model/parameters.h),
// float32, with no second copy of the tied embedding. The same in every execution mode.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "backend/tensor.h"
#include "base/files.h"
#include "model/safetensors.h"

namespace saddle::model {

// The tensors of an arena's layout as entries of a file, each name with `prefix` in front. dtype is
// "F32" or "F64".
std::vector<TensorEntry> arena_entries(const tensor::Layout& layout, std::string_view prefix,
                                       std::string_view dtype);

// Writes the values of one worker of an arena, tensor by tensor in order, converted to File (float
// or double), without padding.
template <class File, class T>
void write_arena(SafetensorsWriter& writer, const backend::Arena<T>& arena, int64_t worker);

// Reads tensors named prefix + canonical name (F32 or F64) into one worker of an arena. A missing
// tensor or another shape or type is an Error of kind kData that names it.
template <class T>
void read_arena(const SafetensorsReader& reader, std::string_view prefix, backend::Arena<T>& arena,
                int64_t worker);

// Writes a weight file of one worker.
template <class T>
void save_weights(const Path& path, const backend::Arena<T>& arena, int64_t worker,
                  const std::map<std::string, std::string>& metadata);

// Reads a weight file, or the weights in a state file, into every worker of an arena. Tensors that
// are missing, extra or of another shape, and numbers that are not finite, are Errors of kind
// kData.
template <class T>
void load_weights(const Path& path, backend::Arena<T>& arena);

}  // namespace saddle::model
