#include "config/fields.h"

#include "config/value_types.h"

namespace saddle::config {
namespace {

constexpr int64_t kMaxTokens = 1'000'000'000'000'000;
constexpr double kMinEps = 1e-30;  // far from where a float rounds to zero

template <class Struct>
class Section {
 public:
  Section(std::vector<Field>& fields, std::string name, Struct Settings::*member)
      : fields_(fields), name_(std::move(name)), member_(member) {}

  template <class Type>
  void add(std::string_view name, typename Type::Type Struct::*field, Type type, Role role,
           std::string_view meaning) {
    const auto place = [field](auto& section) -> auto& {
      return section.*field;
    };
    add_at(name, place, type, role, meaning);
  }

  // A field of a struct inside the section: `name` is GROUP.field.
  template <class Group, class Type>
  void add(std::string_view name, Group Struct::*group, typename Type::Type Group::*field,
           Type type, Role role, std::string_view meaning) {
    const auto place = [ group, field ](auto& section) -> auto& {
      return section.*group.*field;
    };
    add_at(name, place, type, role, meaning);
  }

 private:
  // place(section) is the field itself, const or not as the section is.
  template <class Place, class Type>
  void add_at(std::string_view name, Place place, Type type, Role role, std::string_view meaning) {
    const auto member = member_;
    constexpr bool kPathList = std::is_same_v<Type, PathList>;
    constexpr bool kPath =
        kPathList || std::is_same_v<Type, PathText> || std::is_same_v<Type, Nullable<PathText>>;
    constexpr bool kText = kPath || std::is_same_v<Type, Text> || std::is_same_v<Type, Url> ||
                           std::is_same_v<Type, Nullable<Text>>;
    fields_.push_back(
        {.section = name_,
         .name = std::string(name),
         .allowed = type.allowed(),
         .meaning = std::string(meaning),
         .role = role,
         .text = kText,
         .path = kPath,
         .path_list = kPathList,
         .read = [=](const Value& value,
                     Settings& settings) { return type.read(value, place(settings.*member)); },
         .write = [=](const Settings& settings) { return type.write(place(settings.*member)); }});
  }

  std::vector<Field>& fields_;
  std::string name_;
  Struct Settings::*member_;
};

void add_model(std::vector<Field>& fields) {
  using S = ModelSettings;
  Section section(fields, "model", &Settings::model);
  section.add("vocab_size", &S::vocab_size, Integer{2, 65536}, Role::kRecipe,
              "vocabulary size in pieces; must match the tokenizer");
  section.add("context_length", &S::context_length, Integer{1, 262144}, Role::kRecipe,
              "positions in a sequence (tokens)");
  section.add("layers", &S::layers, Integer{1, 1024}, Role::kRecipe, "transformer blocks");
  section.add("width", &S::width, Integer{2, 65536}, Role::kRecipe,
              "width of the residual stream; a multiple of 2 * model.heads");
  section.add("heads", &S::heads, Integer{1, 1024}, Role::kRecipe, "attention heads per block");
  section.add("ffn_width", &S::ffn_width, Integer{1, 262144}, Role::kRecipe,
              "inner width of the feed-forward part");
  section.add("norm_eps", &S::norm_eps, Real::at_least(kMinEps), Role::kRecipe,
              "added to the mean square in rmsnorm");
  section.add("rope_theta", &S::rope_theta, Real::above(0), Role::kRecipe,
              "base of the rotary angles");
}

void add_data(std::vector<Field>& fields) {
  using S = DataSettings;
  Section section(fields, "data", &Settings::data);
  section.add("cache", &S::cache, PathText{}, Role::kExecution,
              "directory of the token cache that prepare writes and train reads");
  section.add("source", &S::source, PathList{}, Role::kExecution,
              "for prepare: folder, glob or file of documents (.json, .jsonl, also with .gz), or a "
              "list of them; their names say train or validation");
  section.add("validation_source", &S::validation_source, PathList{}, Role::kExecution,
              "the same for validation; data.source then names only training files, whatever their "
              "names");
  section.add("dataset", &S::dataset, Nullable{Text{}}, Role::kExecution,
              "published dataset (c4) that prepare downloads instead of reading data.source");
  section.add("revision", &S::revision, Text{}, Role::kExecution,
              "branch, tag or commit of data.dataset");
  section.add("base_url", &S::base_url, Url{}, Role::kExecution,
              "where data.dataset is published, as https://HOST; http:// only for this machine or "
              "a trusted network; records omit the login of https://USER:PASSWORD@HOST");
  section.add("download_dir", &S::download_dir, PathText{}, Role::kExecution,
              "directory that keeps the downloaded files, under data.dataset/data.revision");
  section.add("tokenizer", &S::tokenizer, Nullable{PathText{}}, Role::kExecution,
              "SentencePiece model file");
  section.add("shard_tokens", &S::shard_tokens, Integer{2, kMaxTokens}, Role::kExecution,
              "tokens per shard file of the cache");
  section.add("shuffle_buffer", &S::shuffle_buffer, Integer{1, 1'000'000'000}, Role::kExecution,
              "documents in the buffer that shuffles training text in prepare; 1: no shuffling");
  section.add("shuffle_seed", &S::shuffle_seed, Integer{0}, Role::kExecution,
              "seed of that shuffling");
  section.add("prepare_workers", &S::prepare_workers, Integer{0, 1024}, Role::kExecution,
              "tokenizing threads of prepare; 0: one per core of this process; never changes the "
              "result");
  section.add("prepare_train_tokens", &S::prepare_train_tokens, Nullable{Integer{2, kMaxTokens}},
              Role::kExecution,
              "training tokens to prepare; null: what the training budget needs plus one");
  section.add("prepare_validation_tokens", &S::prepare_validation_tokens,
              Nullable{Integer{2, kMaxTokens}}, Role::kExecution,
              "validation tokens to prepare, which marks the cache incomplete; null: all");
  section.add("buffer_size_mib", &S::buffer_size_mib, Integer{1, 1'048'576}, Role::kRecipe,
              "size of the ranges in which training data are read and shuffled (MiB of uint16)");
  section.add("prefetch", &S::prefetch, Boolean{}, Role::kExecution,
              "read the next range in the background");
}

void add_training(std::vector<Field>& fields) {
  using S = TrainingSettings;
  Section section(fields, "training", &Settings::training);
  section.add("tokens_per_parameter", &S::tokens_per_parameter, Real::above_up_to(0, 1e6),
              Role::kRecipe, "the budget: prediction targets per unique parameter");
  section.add("epoch_tokens_per_parameter", &S::epoch_tokens_per_parameter,
              Real::above_up_to(0, 1e6), Role::kRecipe,
              "a virtual epoch: prediction targets per unique parameter");
  section.add("max_tokens", &S::max_tokens, Nullable{Integer{1, kMaxTokens}}, Role::kRecipe,
              "the budget in targets; null: given by training.tokens_per_parameter");
  section.add("epoch_tokens", &S::epoch_tokens, Nullable{Integer{1, kMaxTokens}}, Role::kRecipe,
              "a virtual epoch in targets; null: given by training.epoch_tokens_per_parameter");
  section.add("batch_tokens", &S::batch_tokens, Integer{1, 1'073'741'824}, Role::kRecipe,
              "targets per update; a multiple of training.micro_batch_size * "
              "model.context_length, with several workers exactly decentralized.num_models times "
              "that");
  section.add("micro_batch_size", &S::micro_batch_size, Integer{1, 65536}, Role::kRecipe,
              "sequences per forward and backward pass (per worker if there are several)");
  section.add("log_every", &S::log_every, Integer{1, kMaxTokens}, Role::kExecution,
              "updates between two lines of metrics.jsonl");
  section.add("checkpoint_policy", &S::checkpoint_policy, Choice<CheckpointPolicy>{},
              Role::kExecution,
              "which checkpoints to keep: the final one, every K-th epoch, listed epochs, all "
              "epochs with a rolling state, or none");
  section.add("checkpoint_epochs", &S::checkpoint_epochs, IntegerList{Integer{1, 1'000'000}},
              Role::kExecution,
              "K for checkpoint_policy interval, the ascending epoch numbers for explicit");
  section.add("checkpoint_every", &S::checkpoint_every, Integer{1, kMaxTokens}, Role::kExecution,
              "updates between two rolling states, for checkpoint_policy all");
}

void add_optimizer(std::vector<Field>& fields) {
  using S = OptimizerSettings;
  Section section(fields, "optimizer", &Settings::optimizer);
  section.add("lr", &S::lr, Real::at_least(0), Role::kRecipe, "largest learning rate");
  section.add("beta1", &S::beta1, Real::from_to_below(0, 1), Role::kRecipe,
              "decay of the first moment per update");
  section.add("beta2", &S::beta2, Real::from_to_below(0, 1), Role::kRecipe,
              "decay of the second moment per update");
  section.add("eps", &S::eps, Real::at_least(kMinEps), Role::kRecipe,
              "added to the root of the second moment");
  section.add("weight_decay", &S::weight_decay, Real::at_least(0), Role::kRecipe,
              "decoupled decay of matrices and the embedding, multiplied by the learning rate");
  section.add("grad_clip", &S::grad_clip, Nullable{Real::above(0)}, Role::kRecipe,
              "largest norm of the gradient; null: no clipping");
  section.add("warmup_fraction", &S::warmup_fraction, Real::between(0, 1), Role::kRecipe,
              "share of the budget over which the learning rate rises linearly");
  section.add("min_lr_ratio", &S::min_lr_ratio, Real::between(0, 1), Role::kRecipe,
              "learning rate at the end of the cosine, as a share of optimizer.lr");
}

void add_decentralized(std::vector<Field>& fields) {
  using S = DecentralizedSettings;
  using Adaptive = AdaptiveConsensusSettings;
  Section section(fields, "decentralized", &Settings::decentralized);
  section.add("num_models", &S::num_models, Integer{1, 1000}, Role::kRecipe,
              "local models (workers) trained together; 1: an ordinary run");
  section.add("topology", &S::topology, Choice<Topology>{}, Role::kRecipe,
              "which workers a worker mixes its parameters with at an update: all, the left and "
              "right neighbour in turn, or the workers at offsets 1, 2, 4, ... in turn");
  section.add("scheme", &S::scheme, Choice<Scheme>{}, Role::kRecipe,
              "awc: mix, then take the local step of the unmixed gradient; atc: take the local "
              "step, then mix");
  section.add("adaptive_consensus.start_frac", &S::adaptive_consensus, &Adaptive::start_frac,
              Nullable{Real::between(0, 1)}, Role::kRecipe,
              "share of the updates after which mixing weakens with the learning rate; null: "
              "never");
  section.add("adaptive_consensus.p", &S::adaptive_consensus, &Adaptive::p,
              Nullable{Real::at_least(0)}, Role::kRecipe,
              "exponent p of the mixing strength (rate / largest rate)^p; null: 1");
}

void add_evaluation(std::vector<Field>& fields) {
  using S = EvaluationSettings;
  Section section(fields, "evaluation", &Settings::evaluation);
  section.add("subset_blocks", &S::subset_blocks, Integer{1, 1'000'000'000}, Role::kRecipe,
              "validation sequences evaluated after each virtual epoch");
  section.add("seed", &S::seed, Integer{0}, Role::kRecipe, "seed that chooses those sequences");
  section.add("batch_size", &S::batch_size, Integer{1, 65536}, Role::kExecution,
              "validation sequences read at a time; they are evaluated in passes of at most "
              "training.micro_batch_size");
}

void add_runtime(std::vector<Field>& fields) {
  using S = RuntimeSettings;
  Section section(fields, "runtime", &Settings::runtime);
  section.add("seed", &S::seed, Integer{0}, Role::kRecipe,
              "seed of the initial weights and of the data order");
  section.add("device", &S::device, Choice<Device>{}, Role::kExecution,
              "where to compute; auto: a GPU if there is one");
  section.add("dtype", &S::dtype, Choice<Precision>{}, Role::kRecipe,
              "type of weights, gradients and calculation");
  section.add("amp", &S::amp, Boolean{}, Role::kRecipe,
              "store and multiply operands of matrix products as bf16 (with dtype float32)");
  section.add("compile", &S::compile, Boolean{}, Role::kExecution,
              "run the fused plan; false: operation by operation");
  section.add("compile_mode", &S::compile_mode, Choice<CompileMode>{}, Role::kExecution,
              "how the plan runs: reduce-overhead replays a captured CUDA graph, max-autotune "
              "times alternatives at the start (rounding then depends on timing)");
  section.add("sdpa_backend", &S::sdpa_backend, Choice<SdpaBackend>{}, Role::kExecution,
              "attention kernel; flash and cudnn need a GPU");
  section.add("threads", &S::threads, Integer{0, 1024}, Role::kExecution,
              "computing threads; 0: one per core of this process");
  section.add("output_dir", &S::output_dir, PathText{}, Role::kExecution, "directory of the run");
  section.add("telemetry", &S::telemetry, Boolean{}, Role::kExecution,
              "append processor use, clock, temperature, power, memory and load once a second to "
              "telemetry.csv in runtime.output_dir while training");
}

}  // namespace

std::vector<Field> setting_fields() {
  std::vector<Field> fields;
  add_model(fields);
  add_data(fields);
  add_training(fields);
  add_optimizer(fields);
  add_decentralized(fields);
  add_evaluation(fields);
  add_runtime(fields);
  return fields;
}

std::vector<std::pair<std::string, std::string>> setting_sections() {
  return {{"model", "The shape of the model; the defaults are the 20m preset."},
          {"data", "The text, the tokenizer, the token cache, and how training reads it."},
          {"training", "The budget, the batch, and what a run keeps."},
          {"optimizer", "AdamW, clipping and the learning-rate schedule."},
          {"decentralized", "Local models that train together and mix their parameters."},
          {"evaluation", "Validation during and after training."},
          {"runtime", "Seed, precision, machine and directory of a run."}};
}

}  // namespace saddle::config
