#include "train/generate.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "data/tokenizer.h"
#include "model/generator.h"
#include "model/parameters.h"
#include "model/weights_file.h"
#include "train/trainer.h"

namespace saddle::train {
namespace {

// The part of `text` before characters that later tokens may still complete. SentencePiece decodes
// bytes of an incomplete character as U+FFFD, at most three at the end.
std::string_view settled(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  for (int i = 0; i < 3 && text.ends_with(kReplacement); ++i) {
    text.remove_suffix(kReplacement.size());
  }
  return text;
}

// The text of new tokens, passed on as soon as it is settled.
class NewText {
 public:
  NewText(const data::Tokenizer& tokenizer, std::vector<uint16_t> prompt,
          const std::function<void(std::string_view)>& out)
      : tokenizer_(tokenizer),
        ids_(std::move(prompt)),
        prompt_bytes_(tokenizer.decode(ids_).size()),
        out_(out) {}

  void add(uint16_t id) {
    ids_.push_back(id);
    hand_out(settled(so_far()));
  }
  std::string finish() {
    std::string all = so_far();
    hand_out(all);
    return all;
  }

 private:
  // Decoded whole each time: whether a piece begins with a space depends on the text before it.
  std::string so_far() const {
    const std::string text = tokenizer_.decode(ids_);
    return text.substr(std::min(prompt_bytes_, text.size()));
  }
  void hand_out(std::string_view text) {
    if (text.size() <= handed_out_) return;
    out_(text.substr(handed_out_));
    handed_out_ = text.size();
  }

  const data::Tokenizer& tokenizer_;
  std::vector<uint16_t> ids_;
  size_t prompt_bytes_;
  const std::function<void(std::string_view)>& out_;
  size_t handed_out_ = 0;
};

template <class T>
void write_logits(const Path& path, model::Generator<T>& generator,
                  const std::vector<int32_t>& tokens, int64_t vocab_size) {
  constexpr int64_t kRows = 64;
  const auto count = static_cast<int64_t>(tokens.size());
  const char* dtype = std::is_same_v<T, float> ? "F32" : "F64";
  model::SafetensorsWriter writer(path,
                                  {{.name = "logits", .dtype = dtype, .shape = {count, vocab_size}},
                                   {.name = "tokens", .dtype = "I64", .shape = {count}}},
                                  {});
  for (int64_t first = 0; first < count; first += kRows) {
    const std::vector<T> rows = generator.logits(first, std::min(kRows, count - first));
    writer.write(rows.data(), rows.size() * sizeof(T));
  }
  const std::vector<int64_t> wide(tokens.begin(), tokens.end());
  writer.write(wide.data(), wide.size() * sizeof(int64_t));
  writer.commit();
}

template <class T>
Generation run(const config::Settings& settings, const Path& checkpoint,
               const GenerateOptions& options) {
  const data::Tokenizer tokenizer(options.tokenizer);
  data::check_vocabulary(tokenizer, settings.model.vocab_size);
  const std::vector<uint16_t> prompt = tokenizer.encode(options.prompt);
  std::vector<int32_t> tokens = {tokenizer.eos_id()};
  tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  const int64_t capacity = settings.model.context_length;
  if (!options.logits_file.empty() && static_cast<int64_t>(tokens.size()) > capacity) {
    fail(ErrorKind::kUsage,
         "the prompt has {} tokens with the end-of-document token before it, but logits are only "
         "written for up to model.context_length ({})",
         tokens.size(), capacity);
  }

  backend::Context context(computing_threads(settings));
  backend::Arena<T> weights(context, model::Parameters(settings.model).layout, 1);
  model::load_weights<T>(checkpoint, settings.model, weights);
  model::Generator<T> generator(context, settings.model, weights);
  const auto run_newest = [&](int64_t count) {
    generator.clear();
    generator.append(std::span(tokens).last(static_cast<size_t>(count)));
  };

  Generation result;
  result.prompt_tokens = static_cast<int64_t>(tokens.size());
  const Stopwatch prompt_watch;
  run_newest(std::min(capacity, result.prompt_tokens));
  if (!options.logits_file.empty()) {
    write_logits(options.logits_file, generator, tokens, settings.model.vocab_size);
  }
  result.prompt_seconds = prompt_watch.seconds();

  const Stopwatch watch;
  const RandomStream random(options.seed, RandomPurpose::kSampling);
  NewText text(tokenizer, prompt, options.on_text);
  for (int64_t i = 0; i < options.max_new_tokens; ++i) {
    if (options.stop() != 0) {
      result.end = Generation::End::kStopped;
      break;
    }
    const std::vector<T> logits = generator.logits(generator.positions() - 1, 1);
    const int32_t token =
        model::sample_token<T>(logits, options.sampling, random.uniform(static_cast<uint64_t>(i)));
    ++result.tokens;
    if (token == tokenizer.eos_id()) {
      result.end = Generation::End::kDocument;
      break;
    }
    tokens.push_back(token);
    text.add(static_cast<uint16_t>(token));
    if (i + 1 == options.max_new_tokens) break;
    if (generator.positions() == capacity) {
      run_newest(std::max<int64_t>(1, capacity / 2));
    } else {
      generator.append(std::span(tokens).last(1));
    }
  }
  result.text = text.finish();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace

Generation generate(const config::Settings& settings, const Path& checkpoint,
                    const GenerateOptions& options) {
  model::check_sampling(options.sampling);
  if (settings.runtime.dtype == config::Precision::kFloat64) {
    return run<double>(settings, checkpoint, options);
  }
  return run<float>(settings, checkpoint, options);
}

}  // namespace saddle::train
