// The weights of a checkpoint, for other programs.
#pragma once

#include <optional>

#include "base/files.h"
#include "config/settings.h"

namespace saddle::train {

enum class ExportFormat { kHuggingFace, kSafetensors };

// Writes the weights of a weight or state file, in float32: as a folder in the Hugging Face layout
// (model/hugging_face.h), with the tokenizer's files when `tokenizer` names a model, or as a
// canonical weight file (model/weights_file.h). Returns the number of parameters.
// Errors: kConfig when `output` is there already or the tokenizer has another vocabulary; kData for
// a damaged checkpoint or one of another model; kIo.
int64_t export_weights(const config::Settings& settings, const Path& checkpoint, const Path& output,
                       ExportFormat format, const std::optional<Path>& tokenizer);

}  // namespace saddle::train
