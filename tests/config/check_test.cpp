#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/load.h"
#include "config/settings_text.h"
#include "support/expect_error.h"

namespace saddle::config {
namespace {

struct OverrideRefusal {
  std::vector<std::string> overrides;
  std::string message;
};

void expect_refusals(ErrorKind kind, const std::vector<OverrideRefusal>& refusals) {
  for (const OverrideRefusal& refusal : refusals) {
    SCOPED_TRACE(refusal.message);
    const Settings settings = with_overrides(refusal.overrides);
    expect_error(kind, {refusal.message}, [&] { check_settings(settings, false); });
  }
}

TEST(Check, SettingsThatContradictEachOther) {
  expect_refusals(
      ErrorKind::kConfig,
      {
          {{"data.source=[a, b]", "data.dataset=c4"},
           "data.source (a, b) and data.dataset (c4) are both given"},
          {{"data.validation_source=a"}, "data.validation_source (a) is given without data.source"},
          {{"data.validation_source=a", "data.dataset=c4"},
           "data.dataset has validation files of its own"},
          {{"model.heads=6"}, "model.width (320) must be a multiple of model.heads (6)"},
          {{"model.width=15", "model.heads=5"},
           "model.width (15) / model.heads (5) is a head size of 3, but rope needs an even one"},
          {{"training.batch_tokens=1000"},
           "training.batch_tokens (1000) must be a multiple of model.context_length (1024)"},
          {{"training.batch_tokens=4096", "training.micro_batch_size=3"},
           "training.batch_tokens (4096) / model.context_length (1024) is 4 sequences for an "
           "update, which must be a multiple of training.micro_batch_size (3)"},
          {{"training.batch_tokens=4096"}, "multiple of training.micro_batch_size (32)"},
          {{"training.tokens_per_parameter=1000000", "model.layers=1000"},
           "training.tokens_per_parameter (1000000) times 1280640320 parameters is more than "
           "1000000000000000 "
           "targets"},
          {{"training.epoch_tokens=1023"},
           "a virtual epoch of 1023 targets (training.epoch_tokens or "
           "epoch_tokens_per_parameter) is shorter than model.context_length (1024)"},
          {{"training.max_tokens=2000000000", "training.epoch_tokens=1024"},
           "makes more than 1000000 epochs"},
          {{"training.checkpoint_policy=interval"}, "needs training.checkpoint_epochs to be one"},
          {{"training.checkpoint_policy=interval", "training.checkpoint_epochs=[1, 2]"},
           "(a checkpoint every K epochs), but it has 2 numbers"},
          {{"training.checkpoint_policy=explicit"},
           "training.checkpoint_policy explicit needs training.checkpoint_epochs, a list"},
          {{"training.checkpoint_policy=explicit", "training.checkpoint_epochs=[1, 3, 3]"},
           "training.checkpoint_epochs must ascend, but 3 is followed by 3"},
          {{"training.checkpoint_policy=explicit", "training.checkpoint_epochs=[1, 41]"},
           "training.checkpoint_epochs asks for epoch 41, but the budget has 40 epochs"},
          {{"training.checkpoint_epochs=2"},
           "training.checkpoint_epochs is given, but training.checkpoint_policy is final"},
          {{"runtime.amp=true", "runtime.dtype=float64"},
           "runtime.amp true needs runtime.dtype float32, but it is float64"},
          {{"runtime.compile_mode=max-autotune", "runtime.compile=false"},
           "max-autotune tunes the fused plan, but runtime.compile is false"},
          {{"runtime.compile_mode=max-autotune", "runtime.dtype=float64"},
           "max-autotune tunes products of float32 on a CPU, but runtime.dtype is float64"},
      });
}

// The rules for several workers, with their numbers.
TEST(Check, SettingsOfSeveralWorkers) {
  const std::string four = "decentralized.num_models=4";
  expect_refusals(
      ErrorKind::kConfig,
      {
          {{four},
           "training.batch_tokens (32768) must be decentralized.num_models (4) * "
           "training.micro_batch_size (32) * model.context_length (1024) = 131072: several "
           "workers do not accumulate gradients"},
          {{four, "training.micro_batch_size=8"},
           "epoch 1 ends after 9963 sequences of model.context_length (1024), which "
           "decentralized.num_models (4) workers cannot share evenly: choose training.max_tokens "
           "and training.epoch_tokens as multiples of 4096"},
          {{four, "training.micro_batch_size=8", "training.epoch_tokens=40960",
            "training.max_tokens=83968"},
           "epoch 3 ends after 82 sequences"},
          {{"decentralized.adaptive_consensus.p=2"},
           "decentralized.adaptive_consensus.p is 2, but adaptive_consensus.start_frac is null"},
      });
}

TEST(Check, WhatThisMachineCannotRun) {
  expect_refusals(ErrorKind::kDevice,
                  {
                      {{"runtime.device=cuda"},
                       "runtime.device is cuda, but this program was built without CUDA"},
                      {{"runtime.compile_mode=reduce-overhead"},
                       "reduce-overhead replays a captured CUDA graph, which a CPU does not have"},
                      {{"runtime.sdpa_backend=flash"},
                       "runtime.sdpa_backend flash is an attention kernel for CUDA GPUs and "
                       "cannot run on a CPU"},
                      {{"runtime.device=cpu", "runtime.sdpa_backend=cudnn"},
                       "runtime.sdpa_backend cudnn is an attention kernel for CUDA GPUs"},
                  });
  const std::vector<std::string> gpu = {"runtime.compile_mode=reduce-overhead",
                                        "runtime.sdpa_backend=flash"};
  check_settings(with_overrides(gpu), true);
  check_settings(with_overrides({"runtime.device=cuda"}), true);
  Settings on_cpu = with_overrides(gpu);
  on_cpu.runtime.device = Device::kCpu;
  expect_error(ErrorKind::kDevice, {"reduce-overhead"}, [&] { check_settings(on_cpu, true); });
}

TEST(Check, WhatIsAllowed) {
  const std::vector<std::vector<std::string>> allowed = {
      {},
      {"training.batch_tokens=4096", "training.micro_batch_size=2"},
      {"training.checkpoint_policy=interval", "training.checkpoint_epochs=7"},
      {"training.checkpoint_policy=explicit", "training.checkpoint_epochs=[1, 40]"},
      {"training.checkpoint_policy=all"},
      {"training.max_tokens=100", "training.epoch_tokens=100"},  // one short block
      {"runtime.amp=true"},
      {"runtime.dtype=float64", "runtime.compile=false"},
      {"runtime.compile_mode=max-autotune"},
      {"runtime.compile_mode=max-autotune", "runtime.amp=true"},
      {"optimizer.eps=1e-30", "model.norm_eps=1e-30"},
      {"decentralized.num_models=4", "training.micro_batch_size=8", "training.epoch_tokens=40960",
       "training.max_tokens=81920"},
      {"decentralized.num_models=3", "training.micro_batch_size=1", "training.batch_tokens=3072",
       "training.epoch_tokens=4096", "training.max_tokens=3072"},            // one epoch, cut short
      {"decentralized.topology=one_peer_ring", "decentralized.scheme=atc"},  // of one worker
      {"decentralized.adaptive_consensus.start_frac=1"},
  };
  for (const std::vector<std::string>& overrides : allowed) {
    check_settings(with_overrides(overrides), false);
  }
}

}  // namespace
}  // namespace saddle::config
