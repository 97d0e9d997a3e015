#include "train/export_weights.h"

#include <filesystem>

#include "base/error.h"
#include "base/output_file.h"
#include "data/sentencepiece_model.h"
#include "data/tokenizer.h"
#include "data/tokenizer_json.h"
#include "model/hugging_face.h"
#include "model/model_note.h"
#include "model/parameters.h"
#include "model/weights_file.h"

namespace saddle::train {
namespace {

// `reason`: why there is no tokenizer.json, if there is none.
model::HuggingFaceTokenizer described(const Path& path, const config::ModelSettings& model,
                                      std::optional<std::string>& reason) {
  const data::Tokenizer tokenizer(path);
  data::check_vocabulary(tokenizer, model.vocab_size);
  model::HuggingFaceTokenizer result;
  result.model_file = path;
  result.eos_id = tokenizer.eos_id();
  result.eos_piece = tokenizer.piece(tokenizer.eos_id());
  if (const auto bos = tokenizer.bos_id()) {
    result.bos_id = *bos;
    result.bos_piece = tokenizer.piece(*bos);
  }
  if (const auto unk = tokenizer.unk_id()) {
    result.unk_id = *unk;
    result.unk_piece = tokenizer.piece(*unk);
  }
  const data::SentencePieceModel pieces =
      data::read_sentencepiece_model(read_file(path), path.string());
  reason = data::without_tokenizer_json(pieces);
  if (!reason) result.tokenizer_json = data::tokenizer_json(pieces);
  return result;
}

}  // namespace

ExportedWeights export_weights(const config::Settings& settings, const Path& checkpoint,
                               const Path& output, ExportFormat format,
                               const std::optional<Path>& tokenizer) {
  backend::Context context(1);
  backend::Arena<float> weights(context, model::Parameters(settings.model).layout, 1);
  model::load_weights<float>(checkpoint, settings.model, weights);
  ExportedWeights result{.parameters = weights.layout().size(), .without_tokenizer_json = {}};
  if (format == ExportFormat::kHuggingFace) {
    std::optional<model::HuggingFaceTokenizer> files;
    if (tokenizer) files = described(*tokenizer, settings.model, result.without_tokenizer_json);
    model::export_hugging_face(output, settings.model, weights, files ? &*files : nullptr);
  } else {
    check_new_file(output);
    model::save_weights<float>(output, weights, 0, model::model_note(settings.model));
  }
  return result;
}

}  // namespace saddle::train
