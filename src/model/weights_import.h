// Weights from elsewhere, as a canonical weight file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "config/settings.h"

namespace saddle::model {

struct ImportedWeights {
  // Of the model: from config.json, or from what saddle wrote into the file. Nothing when neither
  // says how many heads there are.
  std::optional<config::ModelSettings> model;
  int64_t tensors = 0;
  int64_t parameters = 0;
  std::vector<std::string> dtypes;  // stored types that were found
};

// Reads `input` and writes the canonical weight file `output` (model/weights_file.h), and with
// `settings_output` also settings_fragment() of the model there. An error leaves neither file.
// `input` is a folder in the Hugging Face layout (config.json beside model.safetensors, or beside
// the files that model.safetensors.index.json lists) or one safetensors file with the names of
// either layout; for a file, a config.json beside it is read where its names are Hugging Face's.
// F16, BF16 and F32 become float32 exactly. An lm_head.weight must equal the embedding, bit for
// bit; where a tied model is stored under that name alone, it is the embedding.
// Errors: kData for what saddle cannot run, for tensors that are missing, extra, of another shape
// or type, or not finite, each with file and name, and for settings that are asked for when the
// model is unknown; kConfig when `output` exists; kUsage when both outputs are one file; kIo.
ImportedWeights import_weights(const Path& input, const Path& output,
                               const std::optional<Path>& settings_output = std::nullopt);

// YAML of the settings under which `model` is evaluated: the model section, and sizes of batches
// and epochs where the defaults do not fit the model.
std::string settings_fragment(const config::ModelSettings& model);

}  // namespace saddle::model
