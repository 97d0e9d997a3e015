// Weight files: safetensors with exactly the canonical parameter names (model/parameters.h),
// float32, without a second copy of the tied embedding. They do not depend on the execution mode.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "backend/tensor.h"
#include "base/files.h"
#include "config/settings.h"
#include "model/safetensors.h"

namespace saddle::model {

// The tensors of an arena's layout as entries of a file, each name with `prefix` in front. dtype is
// "F32" or "F64".
std::vector<TensorEntry> arena_entries(const tensor::Layout& layout, std::string_view prefix,
                                       std::string_view dtype);

// Writes the values of one worker of an arena, tensor by tensor in order, converted to File (float
// or double), without padding. Error: kNumeric, naming the file and the tensor (with `prefix` in
// front), for a number that is not finite in File; the file is then not written.
template <class File, class T>
void write_arena(SafetensorsWriter& writer, std::string_view prefix, const backend::Arena<T>& arena,
                 int64_t worker);

// Reads tensors named prefix + canonical name (F32 or F64) into one worker of an arena. Error:
// kData, naming the tensor, if one is missing or has another shape or type.
template <class T>
void read_arena(const SafetensorsReader& reader, std::string_view prefix, backend::Arena<T>& arena,
                int64_t worker);

// Writes a weight file of one worker. Errors: those of write_arena; kIo.
template <class T>
void save_weights(const Path& path, const backend::Arena<T>& arena, int64_t worker,
                  const std::map<std::string, std::string>& metadata);

// Reads a weight file, or the weights in a state file of one worker (read_arena reads those of
// several, by prefix), into every worker of an arena with the layout of `model`.
// Errors: kData if the file notes another model (model_note.h; the context length may differ), if
// tensors are missing, extra or of another shape, and for numbers that are not finite.
template <class T>
void load_weights(const Path& path, const config::ModelSettings& model, backend::Arena<T>& arena);

}  // namespace saddle::model
