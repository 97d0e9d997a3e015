// The rules that relate settings to each other.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "config/budget.h"
#include "config/load.h"

namespace saddle::config {
namespace {

void check_model(const ModelSettings& model) {
  if (model.width % model.heads != 0) {
    fail(ErrorKind::kConfig, "model.width ({}) must be a multiple of model.heads ({})", model.width,
         model.heads);
  }
  if (model.head_dim() % 2 != 0) {
    fail(ErrorKind::kConfig,
         "model.width ({}) / model.heads ({}) is a head size of {}, but rope needs an even one",
         model.width, model.heads, model.head_dim());
  }
}

void check_batch(const Settings& settings) {
  const int64_t context = settings.model.context_length;
  const TrainingSettings& training = settings.training;
  if (training.batch_tokens % context != 0) {
    fail(ErrorKind::kConfig,
         "training.batch_tokens ({}) must be a multiple of model.context_length ({})",
         training.batch_tokens, context);
  }
  const int64_t sequences = training.batch_tokens / context;
  if (sequences % training.micro_batch_size != 0) {
    fail(ErrorKind::kConfig,
         "training.batch_tokens ({}) / model.context_length ({}) is {} sequences for an update, "
         "which must be a multiple of training.micro_batch_size ({})",
         training.batch_tokens, context, sequences, training.micro_batch_size);
  }
}

// The rules for several workers. They share every update and every epoch equally.
void check_workers(const Settings& settings) {
  const DecentralizedSettings& decentralized = settings.decentralized;
  const int64_t workers = decentralized.num_models;
  const AdaptiveConsensusSettings& adaptive = decentralized.adaptive_consensus;
  if (adaptive.p && !adaptive.start_frac) {
    fail(ErrorKind::kConfig,
         "decentralized.adaptive_consensus.p is {}, but adaptive_consensus.start_frac is null: "
         "without a start there is no adaptive consensus",
         *adaptive.p);
  }
  if (workers == 1) return;
  const TrainingSettings& training = settings.training;
  const int64_t context = settings.model.context_length;
  const int64_t batch = workers * training.micro_batch_size * context;
  if (training.batch_tokens != batch) {
    fail(ErrorKind::kConfig,
         "training.batch_tokens ({}) must be decentralized.num_models ({}) * "
         "training.micro_batch_size ({}) * model.context_length ({}) = {}: several workers do not "
         "accumulate gradients",
         training.batch_tokens, workers, training.micro_batch_size, context, batch);
  }
  int64_t epoch = 0;
  for (const int64_t boundary : epoch_boundaries(settings)) {
    ++epoch;
    if (boundary % workers == 0) continue;
    fail(ErrorKind::kConfig,
         "epoch {} ends after {} sequences of model.context_length ({}), which "
         "decentralized.num_models ({}) workers cannot share evenly: choose training.max_tokens "
         "and training.epoch_tokens as multiples of {}",
         epoch, boundary, context, workers, workers * context);
  }
}

void check_checkpoints(const Settings& settings) {
  const std::vector<int64_t>& epochs = settings.training.checkpoint_epochs;
  const CheckpointPolicy policy = settings.training.checkpoint_policy;
  switch (policy) {
    case CheckpointPolicy::kInterval:
      if (epochs.size() != 1) {
        fail(ErrorKind::kConfig,
             "training.checkpoint_policy interval needs training.checkpoint_epochs to be one "
             "integer K (a checkpoint every K epochs), but it has {} numbers",
             epochs.size());
      }
      break;
    case CheckpointPolicy::kExplicit: {
      if (epochs.empty()) {
        fail(ErrorKind::kConfig,
             "training.checkpoint_policy explicit needs training.checkpoint_epochs, a list of "
             "epoch numbers");
      }
      const auto fault = std::ranges::adjacent_find(epochs, std::ranges::greater_equal{});
      if (fault != epochs.end()) {
        fail(ErrorKind::kConfig, "training.checkpoint_epochs must ascend, but {} is followed by {}",
             *fault, *std::next(fault));
      }
      const size_t count = epoch_boundaries(settings).size();
      if (static_cast<size_t>(epochs.back()) > count) {
        fail(ErrorKind::kConfig,
             "training.checkpoint_epochs asks for epoch {}, but the budget has {} epochs",
             epochs.back(), count);
      }
      break;
    }
    case CheckpointPolicy::kFinal:
    case CheckpointPolicy::kAll:
    case CheckpointPolicy::kNone:
      if (!epochs.empty()) {
        fail(ErrorKind::kConfig,
             "training.checkpoint_epochs is given, but training.checkpoint_policy is {}: set the "
             "policy to interval or explicit, or checkpoint_epochs to null",
             name(policy));
      }
      break;
  }
}

void check_data(const DataSettings& data) {
  if (!data.source.empty() && data.dataset) {
    fail(ErrorKind::kConfig,
         "data.source ({}) and data.dataset ({}) are both given, but prepare reads one of them: "
         "set the other to null",
         fmt::join(data.source, ", "), *data.dataset);
  }
  if (!data.validation_source.empty() && data.source.empty()) {
    fail(ErrorKind::kConfig,
         "data.validation_source ({}) is given without data.source, which names the training files"
         "{}",
         fmt::join(data.validation_source, ", "),
         data.dataset ? "; data.dataset has validation files of its own" : "");
  }
}

void check_runtime(const RuntimeSettings& runtime, bool built_with_cuda) {
  if (runtime.amp && runtime.dtype != Precision::kFloat32) {
    fail(ErrorKind::kConfig, "runtime.amp true needs runtime.dtype float32, but it is {}",
         name(runtime.dtype));
  }
  if (runtime.device == Device::kCuda && !built_with_cuda) {
    fail(ErrorKind::kDevice,
         "runtime.device is cuda, but this program was built without CUDA: use cpu or auto");
  }
  const bool tunes = runtime.compile_mode == CompileMode::kMaxAutotune;
  if (tunes && !runtime.compile) {
    fail(ErrorKind::kConfig,
         "runtime.compile_mode max-autotune tunes the fused plan, but runtime.compile is false: "
         "set compile to true or compile_mode to default");
  }
  const bool cpu = runtime.device == Device::kCpu || !built_with_cuda;
  if (!cpu) return;
  if (tunes && runtime.dtype != Precision::kFloat32) {
    fail(ErrorKind::kConfig,
         "runtime.compile_mode max-autotune tunes products of float32 on a CPU, but runtime.dtype "
         "is {}: use float32 or compile_mode default",
         name(runtime.dtype));
  }
  if (runtime.compile_mode == CompileMode::kReduceOverhead) {
    fail(ErrorKind::kDevice,
         "runtime.compile_mode reduce-overhead replays a captured CUDA graph, which a CPU does "
         "not have: use default or max-autotune");
  }
  if (runtime.sdpa_backend != SdpaBackend::kAuto) {
    fail(ErrorKind::kDevice,
         "runtime.sdpa_backend {} is an attention kernel for CUDA GPUs and cannot run on a CPU: "
         "use auto",
         name(runtime.sdpa_backend));
  }
}

}  // namespace

int64_t parameter_count(const ModelSettings& model) {
  const int64_t d = model.width;
  const int64_t f = model.ffn_width;
  return model.vocab_size * d + model.layers * (4 * d * d + 3 * d * f + 2 * d) + d;
}

void check_settings(const Settings& settings, bool built_with_cuda) {
  check_model(settings.model);
  check_data(settings.data);
  check_batch(settings);
  check_budget(settings);
  check_workers(settings);
  check_checkpoints(settings);
  check_runtime(settings.runtime, built_with_cuda);
}

}  // namespace saddle::config
