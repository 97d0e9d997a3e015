// Text from a checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "config/settings.h"
#include "model/sampling.h"

namespace saddle::train {

struct GenerateOptions {
  std::string prompt;  // may be empty: the beginning of a document
  int64_t max_new_tokens = 100;
  model::SamplingOptions sampling;
  uint64_t seed = 0;
  Path tokenizer;
  Path logits_file;  // empty: none

  // Called between tokens; returns the signal that asks to stop, or 0.
  std::function<int()> stop = [] { return 0; };
  // Called with each piece of new text as soon as its characters are complete.
  std::function<void(std::string_view)> on_text = [](std::string_view) {};
};

struct Generation {
  enum class End { kDocument, kLength, kStopped };  // the model's eos, the limit, a signal

  std::string text;           // new, without the prompt
  int64_t prompt_tokens = 0;  // with the eos before it
  int64_t tokens = 0;         // drawn, the eos at the end included
  End end = End::kLength;
  double prompt_seconds = 0;  // to run the prompt
  double seconds = 0;         // to draw and run the tokens
};

// Continues the prompt with the weights in `checkpoint`, in runtime.dtype (runtime.amp does not
// matter here). The eos token comes before the prompt, because documents begin after it in
// training. Token i is drawn with number i of the stream (seed, kSampling), so that the text
// depends only on settings, weights, prompt, sampling and seed. When all context_length positions
// are full, the newer half of them is run again from position 0 and the text continues.
//
// With `logits_file`, the prompt's tokens ("tokens", I64 [P]) and the logits after each of them
// ("logits", F32 or F64 [P, V]) are written there as safetensors.
// Errors: kUsage for sampling options that are not allowed, and for a prompt of more than
// context_length tokens when its logits are requested; kConfig for a tokenizer of another
// vocabulary; kData for files that are damaged or of another model; kNumeric when a logit is not
// finite.
Generation generate(const config::Settings& settings, const Path& checkpoint,
                    const GenerateOptions& options);

}  // namespace saddle::train
