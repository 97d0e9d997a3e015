#include "model/weights_import.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/json.h"
#include "base/output_file.h"
#include "config/budget.h"
#include "config/fields.h"
#include "config/load.h"
#include "model/hugging_face.h"
#include "model/model_note.h"
#include "model/parameters.h"
#include "model/stored_tensors.h"
#include "model/weights_file.h"

namespace saddle::model {
namespace {

constexpr const char* kConfigName = "config.json";

constexpr const char* kHead = "lm_head.weight";  // the output matrix

// The names of the parameters in a file.
class StoredNames {
 public:
  explicit StoredNames(const StoredTensors& tensors) {
    const bool embedding = tensors.find(hugging_face_name("embedding.weight")) != nullptr;
    output_head_alone_ = !embedding && tensors.find(kHead) != nullptr;
    hugging_face_ = embedding || output_head_alone_;
  }

  bool hugging_face() const { return hugging_face_; }
  // Whether the matrix that is both embedding and output has only the name of the output.
  bool output_head_alone() const { return output_head_alone_; }

  std::string operator()(const std::string& canonical) const {
    if (!hugging_face_) return canonical;
    if (output_head_alone_ && canonical == "embedding.weight") return kHead;
    return hugging_face_name(canonical);
  }

 private:
  bool hugging_face_ = false, output_head_alone_ = false;
};

const TensorEntry& matrix(const StoredTensors& tensors, const std::string& name) {
  const TensorEntry& entry = tensors.at(name);
  if (entry.shape.size() != 2) {
    fail(ErrorKind::kData, "{}: tensor {} has shape [{}], expected a matrix", tensors.where(), name,
         fmt::join(entry.shape, ", "));
  }
  return entry;
}

// Returns `model` with the sizes of the stored tensors. Heads, eps and theta remain unchanged.
config::ModelSettings with_stored_sizes(const StoredTensors& tensors, const StoredNames& name,
                                        config::ModelSettings model) {
  const TensorEntry& embedding = matrix(tensors, name("embedding.weight"));
  model.vocab_size = embedding.shape[0];
  model.width = embedding.shape[1];
  model.ffn_width = matrix(tensors, name("blocks.0.ffn.gate_proj.weight")).shape[0];
  model.layers = 0;
  while (tensors.find(name(fmt::format("blocks.{}.attention_norm.weight", model.layers)))) {
    ++model.layers;
  }
  if (std::min({model.vocab_size, model.width, model.ffn_width}) < 1) {
    fail(ErrorKind::kData, "{}: the embedding or the first block is empty", tensors.where());
  }
  return model;
}

// Checks that every number is in range and that the sizes are allowed as settings.
void check_model(const config::ModelSettings& model, const std::string& where) {
  config::Settings settings;
  config::apply_yaml(settings_fragment(model), where + ", as settings", settings);
  config::check_settings(settings);
}

bool ignored(const std::string& name) {
  return name.ends_with(".rotary_emb.inv_freq");  // a table that old versions stored
}

// Refuses tensors that the model does not have: biases, adapters, weights of another architecture.
void check_no_others(const StoredTensors& tensors, const tensor::Layout& layout,
                     const StoredNames& stored_name) {
  std::vector<std::string> known;
  for (const tensor::Slot& slot : layout.slots()) {
    known.push_back(stored_name(slot.name));
  }
  std::sort(known.begin(), known.end());
  for (const std::string& name : tensors.names()) {
    if (std::binary_search(known.begin(), known.end(), name) || ignored(name)) continue;
    if (stored_name.hugging_face() && name == kHead) continue;
    fail(ErrorKind::kData,
         "{}: tensor {} is not one of this model; saddle cannot run a model with it",
         tensors.where(), name);
  }
}

// saddle uses the embedding as output matrix, so a different output matrix cannot be imported.
void check_head(const StoredTensors& tensors, const StoredNames& stored_name, bool said_untied) {
  const std::string head = kHead;
  const std::string embedding = hugging_face_name("embedding.weight");
  if (stored_name.output_head_alone()) {
    if (!said_untied) return;
    fail(ErrorKind::kData,
         "{}: tie_word_embeddings is false and there is no {}: {} is used for both only if "
         "tie_word_embeddings is true",
         tensors.where(), embedding, head);
  }
  if (tensors.find(head) == nullptr) {
    if (!said_untied) return;
    fail(ErrorKind::kData,
         "{}: tie_word_embeddings is false and there is no {}: the output matrix is missing",
         tensors.where(), head);
  }
  const bool same_shape = tensors.at(head).shape == tensors.at(embedding).shape;
  const std::vector<float> a = same_shape ? tensors.read(head) : std::vector<float>();
  const std::vector<float> b = same_shape ? tensors.read(embedding) : std::vector<float>();
  if (!same_shape || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0) {
    fail(ErrorKind::kData,
         "{}: lm_head.weight differs from the embedding, but saddle ties the two (one matrix): "
         "this model cannot be imported",
         tensors.where());
  }
}

void write_weights(const StoredTensors& tensors, const tensor::Layout& layout,
                   const StoredNames& stored_name, const Path& output,
                   const std::map<std::string, std::string>& metadata) {
  SafetensorsWriter writer(output, arena_entries(layout, "", "F32"), metadata);
  for (const tensor::Slot& slot : layout.slots()) {
    const std::string name = stored_name(slot.name);
    const TensorEntry& entry = tensors.at(name);
    const std::vector<int64_t> shape = slot.is_vector ? std::vector<int64_t>{slot.cols}
                                                      : std::vector<int64_t>{slot.rows, slot.cols};
    if (entry.shape != shape) {
      fail(ErrorKind::kData, "{}: tensor {} has shape [{}], but the model needs [{}]",
           tensors.where(), name, fmt::join(entry.shape, ", "), fmt::join(shape, ", "));
    }
    const std::vector<float> values = tensors.read(name);
    const auto bad = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
    if (bad != values.end()) {
      fail(ErrorKind::kData, "{}: tensor {} holds {} at element {}, expected a finite number",
           tensors.where(), name, *bad, bad - values.begin());
    }
    writer.write(values.data(), values.size() * sizeof(float));
  }
  writer.commit();
}

}  // namespace

ImportedWeights import_weights(const Path& input, const Path& output,
                               const std::optional<Path>& settings_output) {
  check_new_file(output);
  const bool folder = std::filesystem::is_directory(input);
  const Path config_path = (folder ? input : input.parent_path()) / kConfigName;
  if (folder && !std::filesystem::exists(config_path)) {
    fail(ErrorKind::kData, "'{}' contains no {}: a folder in the Hugging Face layout has one",
         input.string(), kConfigName);
  }
  ImportedWeights result;
  bool said_untied = false;
  const auto read_config = [&] {
    const Json config = read_json(config_path);
    result.model = settings_from_hugging_face(config, config_path.string());
    // LlamaConfig's own default is false.
    said_untied = !config.contains("tie_word_embeddings") || config["tie_word_embeddings"] != true;
  };
  if (folder) read_config();  // refuses models before the tensors are opened
  const StoredTensors tensors(input);
  const StoredNames stored_name(tensors);
  const bool hugging_face = stored_name.hugging_face();
  if (folder && !hugging_face) tensors.at(hugging_face_name("embedding.weight"));
  if (!folder && hugging_face && std::filesystem::exists(config_path)) read_config();
  if (!hugging_face) result.model = noted_model(tensors.metadata(), tensors.where());

  const config::ModelSettings stored =
      with_stored_sizes(tensors, stored_name, result.model.value_or(config::ModelSettings{}));
  if (result.model) check_model(*result.model, folder ? config_path.string() : tensors.where());
  const config::ModelSettings& model = result.model ? *result.model : stored;
  const tensor::Layout layout = Parameters(model).layout;
  check_no_others(tensors, layout, stored_name);
  if (hugging_face) check_head(tensors, stored_name, said_untied);

  std::optional<AtomicFile> settings;  // opened first, so that a failure leaves no weights
  if (settings_output) {
    if (!result.model) {
      fail(ErrorKind::kData,
           "{} does not give the number of attention heads of the model, and there is no {} next "
           "to it: its settings cannot be written",
           input.string(), kConfigName);
    }
    settings.emplace(*settings_output);
    settings->write(settings_fragment(*result.model));
  }
  std::map<std::string, std::string> metadata;
  if (result.model) metadata = model_note(*result.model);
  write_weights(tensors, layout, stored_name, output, metadata);
  if (settings) {
    try {
      settings->commit();
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove(output, ignored);
      throw;
    }
  }
  result.tensors = static_cast<int64_t>(layout.slots().size());
  result.parameters = layout.size();
  result.dtypes = tensors.dtypes();
  return result;
}

std::string settings_fragment(const config::ModelSettings& model) {
  config::Settings settings;
  settings.model = model;
  std::string text = "model:\n";
  for (const config::Field& field : config::setting_fields()) {
    if (field.section != "model") continue;
    text += fmt::format("  {}: {}\n", field.name, config::yaml_text(field.write(settings)));
  }
  // An update of about the default number of targets, divided into equal microbatches.
  std::string training;
  const config::TrainingSettings& usual = settings.training;
  if (usual.batch_tokens % (usual.micro_batch_size * model.context_length) != 0) {
    const int64_t piece =
        std::clamp<int64_t>(usual.batch_tokens / model.context_length, 1, usual.micro_batch_size);
    const int64_t pieces =
        std::max<int64_t>(1, usual.batch_tokens / (piece * model.context_length));
    training += fmt::format("  micro_batch_size: {}\n  batch_tokens: {}\n", piece,
                            pieces * piece * model.context_length);
  }
  // The virtual epoch of a very small model would be shorter than one sequence.
  if (config::epoch_targets(settings) < static_cast<double>(model.context_length)) {
    training += fmt::format("  epoch_tokens: {}\n", model.context_length);
  }
  if (!training.empty()) text += "training:\n" + training;
  return text;
}

}  // namespace saddle::model
