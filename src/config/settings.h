// The settings of a run: plain structs with their defaults. Each field has one row in the field
// tables (fields.h), which give its range and meaning. Reading, checking, writing, the recipe and
// docs/options.md are derived from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saddle::config {

enum class Device { kCpu, kCuda, kAuto };
enum class Precision { kFloat32, kFloat64 };
enum class CompileMode { kDefault, kReduceOverhead, kMaxAutotune };
enum class SdpaBackend { kAuto, kFlash, kCudnn };
enum class CheckpointPolicy { kFinal, kInterval, kExplicit, kAll, kNone };
enum class Topology { kComplete, kOnePeerRing, kOnePeerExponential };
enum class Scheme { kAdaptWhileCombine, kAdaptThenCombine };

// The names that a choice has in YAML and in messages.
std::string_view name(Device value);
std::string_view name(Precision value);
std::string_view name(CompileMode value);
std::string_view name(SdpaBackend value);
std::string_view name(CheckpointPolicy value);
std::string_view name(Topology value);
std::string_view name(Scheme value);

// The shape of the model; the defaults are the 20m preset.
struct ModelSettings {
  int64_t vocab_size = 32000;     // V
  int64_t context_length = 1024;  // T, positions of a training sequence
  int64_t layers = 8;             // L
  int64_t width = 320;            // C, the residual stream
  int64_t heads = 5;              // H
  int64_t ffn_width = 896;        // F
  double norm_eps = 1e-5;
  double rope_theta = 10000;

  int64_t head_dim() const { return width / heads; }
  bool operator==(const ModelSettings&) const = default;
};

struct DataSettings {
  std::string cache = "cache";                 // directory of the token cache
  std::vector<std::string> source;             // folders, globs and files of documents
  std::vector<std::string> validation_source;  // the same for validation, if given separately
  std::optional<std::string> dataset;          // a published dataset (c4) instead of both
  std::string revision = "main";               // its branch, tag or commit
  std::string base_url = "https://huggingface.co";
  std::string download_dir = "downloads";  // for its downloaded files
  std::optional<std::string> tokenizer;    // SentencePiece model file
  int64_t shard_tokens = 16777216;
  int64_t shuffle_buffer = 10000;  // documents
  int64_t shuffle_seed = 42;
  int64_t prepare_workers = 0;                       // threads; 0: every core of this process
  std::optional<int64_t> prepare_train_tokens;       // null: what the budget needs plus one
  std::optional<int64_t> prepare_validation_tokens;  // null: the whole split
  int64_t buffer_size_mib = 64;
  bool prefetch = true;

  bool operator==(const DataSettings&) const = default;
};

struct TrainingSettings {
  double tokens_per_parameter = 20;         // prediction targets for each unique parameter
  double epoch_tokens_per_parameter = 0.5;  // the same for a virtual epoch
  std::optional<int64_t> max_tokens;        // targets; overrides tokens_per_parameter
  std::optional<int64_t> epoch_tokens;      // targets; overrides epoch_tokens_per_parameter
  int64_t batch_tokens = 32768;             // targets of an update
  int64_t micro_batch_size = 32;            // sequences
  int64_t log_every = 10;                   // updates
  CheckpointPolicy checkpoint_policy = CheckpointPolicy::kFinal;
  std::vector<int64_t> checkpoint_epochs;  // interval: {K}; explicit: the epochs, ascending
  int64_t checkpoint_every = 1000;         // updates between rolling states (policy all)

  bool operator==(const TrainingSettings&) const = default;
};

struct OptimizerSettings {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  std::optional<double> grad_clip = 1.0;  // null: no clipping
  double warmup_fraction = 0.05;
  double min_lr_ratio = 0.1;

  bool operator==(const OptimizerSettings&) const = default;
};

// When adaptive consensus begins, and how it follows the learning rate (optim/mixing.h).
struct AdaptiveConsensusSettings {
  std::optional<double> start_frac;  // share of the updates; null: no adaptive consensus
  std::optional<double> p;           // exponent; null: 1

  bool operator==(const AdaptiveConsensusSettings&) const = default;
};

// Several local models ("workers") trained together. One is an ordinary run.
struct DecentralizedSettings {
  int64_t num_models = 1;  // N
  Topology topology = Topology::kComplete;
  Scheme scheme = Scheme::kAdaptWhileCombine;
  AdaptiveConsensusSettings adaptive_consensus;

  bool operator==(const DecentralizedSettings&) const = default;
};

struct EvaluationSettings {
  int64_t subset_blocks = 1024;  // sequences of context_length targets
  int64_t seed = 12345;
  int64_t batch_size = 128;  // sequences

  bool operator==(const EvaluationSettings&) const = default;
};

struct RuntimeSettings {
  int64_t seed = 42;
  Device device = Device::kAuto;
  Precision dtype = Precision::kFloat32;
  bool amp = false;
  bool compile = true;
  CompileMode compile_mode = CompileMode::kDefault;
  SdpaBackend sdpa_backend = SdpaBackend::kAuto;
  int64_t threads = 0;  // 0: every core of this process
  std::string output_dir = "runs/default";
  bool telemetry = false;  // written to output_dir while training

  bool operator==(const RuntimeSettings&) const = default;
};

struct Settings {
  ModelSettings model;
  DataSettings data;
  TrainingSettings training;
  OptimizerSettings optimizer;
  DecentralizedSettings decentralized;
  EvaluationSettings evaluation;
  RuntimeSettings runtime;

  bool operator==(const Settings&) const = default;
};

// The number of unique parameters, the tied embedding counted once:
// V*d + L*(4*d^2 + 3*d*f + 2*d) + d.
int64_t parameter_count(const ModelSettings& model);

}  // namespace saddle::config
