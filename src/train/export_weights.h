// The weights of a checkpoint, for other programs.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "config/settings.h"

namespace saddle::train {

enum class ExportFormat { kHuggingFace, kSafetensors };

struct ExportedWeights {
  int64_t parameters = 0;
  // Why the folder has only the tokenizer's model, if it could not be written as
  // tokenizer.json.
  std::optional<std::string> without_tokenizer_json;
};

// Writes the weights of a weight or state file, in float32: as a folder in the Hugging Face layout
// (model/hugging_face.h), with the tokenizer's files when `tokenizer` names a model, or as a
// canonical weight file (model/weights_file.h). Whole or not at all.
// Errors: kConfig when `output` already exists or the tokenizer has another vocabulary; kData for
// a damaged checkpoint or one of another model; kIo.
ExportedWeights export_weights(const config::Settings& settings, const Path& checkpoint,
                               const Path& output, ExportFormat format,
                               const std::optional<Path>& tokenizer);

}  // namespace saddle::train
