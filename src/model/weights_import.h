// Imports weights from other programs as a canonical weight file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "config/settings.h"

namespace saddle::model {

struct ImportedWeights {
  // From config.json, or from the note that saddle wrote into the file. Nothing if neither gives
  // the number of heads.
  std::optional<config::ModelSettings> model;
  int64_t tensors = 0;
  int64_t parameters = 0;
  std::vector<std::string> dtypes;  // stored types found
};

// Reads `input` and writes the canonical weight file `output` (model/weights_file.h). If given,
// `settings_output` receives the settings_fragment() of the model. An error leaves neither file.
// `input` is a folder in the Hugging Face layout (config.json and either model.safetensors or the
// files listed in model.safetensors.index.json) or one safetensors file with the names of either
// layout; for a file with the names of Hugging Face, a config.json next to it is read as well. F16,
// BF16 and F32 become float32 exactly. An lm_head.weight must equal the embedding, bit for bit; if
// a tied model is stored only under that name, it is the embedding.
// Errors: kData for models that saddle cannot run, for tensors that are missing, extra, of another
// shape or type, or not finite, each with file and name, and for settings of an unknown model;
// kConfig if `output` exists; kUsage if both outputs are the same file; kIo.
ImportedWeights import_weights(const Path& input, const Path& output,
                               const std::optional<Path>& settings_output = std::nullopt);

// Returns YAML with the settings for evaluating `model`: the model section, and sizes of batches
// and epochs if the defaults do not fit the model.
std::string settings_fragment(const config::ModelSettings& model);

}  // namespace saddle::model
