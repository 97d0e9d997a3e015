#include "config/load.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/environment.h"
#include "config/settings_text.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::config {
namespace {

using Texts = std::vector<std::string>;

TEST(Load, ReadsEveryType) {
  const Settings settings = from_yaml(R"(
model: {layers: 2, norm_eps: 1e-6, rope_theta: 5}
data:
  source: "c4/en/*.json.gz"
  tokenizer: null
  prepare_train_tokens: 1000
  prefetch: false
training:
  checkpoint_policy: 'explicit'
  checkpoint_epochs: [1, 3]
optimizer:
  lr: .5
  grad_clip: ~
runtime: {device: cpu, dtype: float64, compile_mode: max-autotune, seed: 9223372036854775807}
)");
  EXPECT_EQ(settings.model.layers, 2);
  EXPECT_EQ(settings.model.norm_eps, 1e-6);
  EXPECT_EQ(settings.model.rope_theta, 5);
  EXPECT_EQ(settings.data.source, Texts{"c4/en/*.json.gz"});
  EXPECT_EQ(settings.data.tokenizer, std::nullopt);
  EXPECT_EQ(settings.data.prepare_train_tokens, 1000);
  EXPECT_FALSE(settings.data.prefetch);
  EXPECT_EQ(settings.training.checkpoint_policy, CheckpointPolicy::kExplicit);
  EXPECT_EQ(settings.training.checkpoint_epochs, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(settings.optimizer.lr, 0.5);
  EXPECT_EQ(settings.optimizer.grad_clip, std::nullopt);
  EXPECT_EQ(settings.runtime.device, Device::kCpu);
  EXPECT_EQ(settings.runtime.dtype, Precision::kFloat64);
  EXPECT_EQ(settings.runtime.compile_mode, CompileMode::kMaxAutotune);
  EXPECT_EQ(settings.runtime.seed, INT64_MAX);
  EXPECT_EQ(settings.model.width, ModelSettings{}.width)
      << "settings that are not given keep their defaults";
}

TEST(Load, NothingGivenMeansTheDefaults) {
  EXPECT_EQ(load_settings({}, {}), Settings{});
  EXPECT_EQ(from_yaml(""), Settings{});
  EXPECT_EQ(from_yaml("# only a comment\n"), Settings{});
  EXPECT_EQ(from_yaml("model:\n  # layers: 3\n"), Settings{});
}

TEST(Load, LaterFilesWinKeyByKeyThenOverridesInOrder) {
  const TemporaryDirectory directory;
  const Path first = directory / "first.yaml";
  const Path second = directory / "second.yaml";
  write_file_atomically(first, "model: {layers: 2, heads: 4}\noptimizer: {lr: 0.1, beta1: 0.5}\n");
  write_file_atomically(second, "model: {layers: 3}\noptimizer: {lr: 0.2, beta2: 0.6}\n");

  const Settings settings = load_settings(
      {first, second}, {"optimizer.lr=0.3", "optimizer.beta2=0.7", "optimizer.lr=0.4"});
  EXPECT_EQ(settings.model.layers, 3);
  EXPECT_EQ(settings.model.heads, 4);
  EXPECT_EQ(settings.optimizer.lr, 0.4);
  EXPECT_EQ(settings.optimizer.beta1, 0.5);
  EXPECT_EQ(settings.optimizer.beta2, 0.7);

  EXPECT_EQ(load_settings({second, first}, {}).model.layers, 2);
}

// A group of settings inside a section.
TEST(Load, Groups) {
  const std::string text =
      "decentralized:\n  num_models: 4\n  adaptive_consensus:\n    start_frac: 0.5\n    p: 2\n";
  Settings settings = from_yaml(text);
  EXPECT_EQ(settings.decentralized.num_models, 4);
  EXPECT_EQ(settings.decentralized.adaptive_consensus.start_frac, 0.5);
  EXPECT_EQ(settings.decentralized.adaptive_consensus.p, 2.0);
  apply_override("decentralized.adaptive_consensus.p=3", settings);
  EXPECT_EQ(settings.decentralized.adaptive_consensus.p, 3.0);
  Settings overridden = settings;
  apply_override("decentralized.adaptive_consensus=null", overridden);
  EXPECT_EQ(overridden.decentralized.adaptive_consensus, AdaptiveConsensusSettings{});
  expect_error(ErrorKind::kConfig,
               {"decentralized.adaptive_consensus is 0.5", "must be null",
                "decentralized.adaptive_consensus.start_frac"},
               [&] { apply_override("decentralized.adaptive_consensus=0.5", overridden); });
  apply_yaml("decentralized: {adaptive_consensus: null}\n", "b.yaml", settings);
  EXPECT_EQ(settings.decentralized.adaptive_consensus, AdaptiveConsensusSettings{});
  EXPECT_EQ(settings.decentralized.num_models, 4);
}

// Sets HOME for a test and restores it afterwards.
class Home {
 public:
  explicit Home(const char* value) : before_(environment_variable("HOME")) {
    if (value == nullptr) {
      ::unsetenv("HOME");
    } else {
      ::setenv("HOME", value, 1);
    }
  }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  ~Home() { ::setenv("HOME", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(Load, ATildeAtTheStartOfAPathIsTheHomeDirectory) {
  const Home home("/home/user");
  const Settings file = from_yaml("data: {cache: ~/c4, source: '~/text/*.gz', revision: ~/main}\n");
  EXPECT_EQ(file.data.cache, "/home/user/c4");
  EXPECT_EQ(file.data.source, Texts{"/home/user/text/*.gz"});
  EXPECT_EQ(file.data.revision, "~/main") << "a revision is not a path";
  const Settings set = with_overrides(
      {"data.tokenizer=~/t.model", "data.download_dir=~", "runtime.output_dir=./~user/runs~/1"});
  EXPECT_EQ(set.data.tokenizer, "/home/user/t.model");
  EXPECT_EQ(set.data.download_dir, "/home/user");
  EXPECT_EQ(set.runtime.output_dir, "./~user/runs~/1");
  Settings again;
  apply_yaml(to_yaml(set), "resolved.yaml", again);
  EXPECT_EQ(again, set);
}

TEST(Load, WithoutAHomeDirectoryATildeIsRefused) {
  for (const char* value : {static_cast<const char*>(nullptr), "", "relative"}) {
    const Home home(value);
    expect_error(ErrorKind::kConfig, {"data.cache is ~/c4", "the home directory (HOME)"},
                 [] { with_overrides({"data.cache=~/c4"}); });
  }
}

TEST(Load, FilesAreNamedInErrors) {
  const TemporaryDirectory directory;
  const Path path = directory / "bad.yaml";
  write_file_atomically(path, "model:\n  layers: 0\n");
  expect_error(ErrorKind::kConfig,
               {path.string() + ":2: model.layers is 0, but must be an integer from 1 to 1024"},
               [&] { load_settings({path}, {}); });
  const Path missing = directory / "missing.yaml";
  expect_error(ErrorKind::kIo, {missing.string()}, [&] { load_settings({missing}, {}); });
}

TEST(Load, CombinationsAreCheckedAfterAllOfThemAreRead) {
  const TemporaryDirectory directory;
  const Path path = directory / "file.yaml";
  write_file_atomically(path, "model: {heads: 7}\n");
  expect_error(ErrorKind::kConfig, {"model.width (320) must be a multiple of model.heads (7)"},
               [&] { load_settings({path}, {}); });
  EXPECT_EQ(load_settings({path}, {"model.width=448"}).model.head_dim(), 64);
}

TEST(Override, SetsNullListsChoicesNumbersAndText) {
  const Settings settings = with_overrides(
      {"optimizer.grad_clip=null", "training.checkpoint_epochs=[2, 5,9]",
       "training.checkpoint_policy=explicit", "training.max_tokens=1000", "optimizer.lr=3e-4",
       "runtime.compile=false", "data.source=*.json.gz", "runtime.output_dir=runs/a: b # c"});
  EXPECT_EQ(settings.optimizer.grad_clip, std::nullopt);
  EXPECT_EQ(settings.training.checkpoint_epochs, (std::vector<int64_t>{2, 5, 9}));
  EXPECT_EQ(settings.training.checkpoint_policy, CheckpointPolicy::kExplicit);
  EXPECT_EQ(settings.training.max_tokens, 1000);
  EXPECT_EQ(settings.optimizer.lr, 3e-4);
  EXPECT_FALSE(settings.runtime.compile);
  EXPECT_EQ(settings.data.source, Texts{"*.json.gz"}) << "text is taken as written";
  EXPECT_EQ(settings.runtime.output_dir, "runs/a: b # c");

  EXPECT_EQ(with_overrides({"data.source=a=b"}).data.source, Texts{"a=b"});
  EXPECT_EQ(with_overrides({"data.source=[a b, c]"}).data.source, (Texts{"a b", "c"}));
  EXPECT_EQ(with_overrides({"data.source=part[1].jsonl"}).data.source, Texts{"part[1].jsonl"});
  EXPECT_EQ(with_overrides({"data.source=[1].jsonl"}).data.source, Texts{"[1].jsonl"});
  EXPECT_EQ(with_overrides({"data.source=a", "data.source=null"}).data.source, Texts{});
  EXPECT_EQ(with_overrides({"data.source=a", "data.source="}).data.source, Texts{});
  EXPECT_EQ(with_overrides({"training.checkpoint_epochs=4"}).training.checkpoint_epochs,
            (std::vector<int64_t>{4}));
  EXPECT_EQ(with_overrides({"training.checkpoint_epochs=4", "training.checkpoint_epochs=null"})
                .training.checkpoint_epochs,
            (std::vector<int64_t>{}));
}

}  // namespace
}  // namespace saddle::config
