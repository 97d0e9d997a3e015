// What is refused, and the messages.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/settings_text.h"
#include "config/suggest.h"
#include "support/expect_error.h"

namespace saddle::config {
namespace {

struct Refusal {
  std::string text;
  std::string message;
};

TEST(Refusals, OfYaml) {
  const std::vector<Refusal> refusals = {
      // Unknown names.
      {"optimizer:\n  lrr: 1\n",
       "a.yaml:2: unknown setting optimizer.lrr; did you mean optimizer.lr?"},
      {"model:\n  layers: 2\n  contxt_length: 1\n",
       "a.yaml:3: unknown setting model.contxt_length; did you mean model.context_length?"},
      {"training:\n  lr: 1\n", "a.yaml:2: unknown setting training.lr; did you mean optimizer.lr?"},
      {"evaluation:\n  temperature: 1\n",
       "a.yaml:2: unknown setting evaluation.temperature; the settings of evaluation are "
       "subset_blocks, seed, batch_size"},
      {"optimiser:\n  lr: 1\n", "a.yaml:1: unknown section optimiser; did you mean optimizer?"},
      {"x: {lr: 1}\n",
       "a.yaml:1: unknown section x; the sections are model, data, training, optimizer, "
       "decentralized, evaluation, runtime"},
      {"<<: {lr: 1}\n", "a.yaml:1: unknown section <<; "},
      // Wrong types.
      {"model: {layers: two}",
       "a.yaml:1: model.layers is two, but must be an integer from 1 to 1024"},
      {"model: {layers: '2'}", "model.layers is \"2\", but must be an integer"},
      {"model: {layers: 2.0}", "model.layers is 2.0, but must be an integer"},
      {"model: {layers: null}", "model.layers is null, but must be an integer"},
      {"model: {layers: [2]}", "model.layers is [2], but must be an integer"},
      {"model: {layers: {a: 2}}", "model.layers is a mapping, but must be an integer"},
      {"model: {layers: !!int 2}", "model.layers is a value with the tag tag:yaml.org,2002:int"},
      {"model: {layers: 0x2}", "model.layers is 0x2, but must be an integer"},
      {"data: {shard_tokens: 16_777_216}", "data.shard_tokens is 16_777_216, but must be"},
      {"data: {prefetch: yes}", "data.prefetch is yes, but must be true or false"},
      {"data: {cache: null}", "data.cache is null, but must be a non-empty path in UTF-8"},
      {"data: {cache: ''}", "data.cache is \"\", but must be a non-empty path"},
      {"data: {cache: [a]}", "data.cache is [a], but must be a non-empty path"},
      {"data: {cache: \"a\\0b\"}", "data.cache is \"a\\u0000b\", but must be a non-empty path"},
      {"data: {revision: ''}", "data.revision is \"\", but must be non-empty text in UTF-8"},
      {"data: {cache: ~other/c4}",
       "data.cache is ~other/c4, but must be a non-empty path in UTF-8, with no leading ~ except "
       "in ~/, the home directory (HOME)"},
      {"optimizer: {lr: fast}", "optimizer.lr is fast, but must be a number of at least 0"},
      {"training: {checkpoint_epochs: [1, x]}",
       "training.checkpoint_epochs is [1, x], but must be an integer from 1 to 1000000, or a list "
       "of such integers, or null"},
      {"training: {checkpoint_epochs: [1, [2]]}", "training.checkpoint_epochs is [1, a list]"},
      {"training: {checkpoint_epochs: &a [*a]}", "training.checkpoint_epochs is [a list]"},
      // Values that are not allowed.
      {"model: {vocab_size: 65537}",
       "model.vocab_size is 65537, but must be an integer from 2 to 65536"},
      {"model: {heads: 0}", "model.heads is 0, but must be an integer from 1 to 1024"},
      {"runtime: {seed: -1}",
       "runtime.seed is -1, but must be an integer from 0 to 9223372036854775807"},
      {"runtime: {seed: 9223372036854775808}",
       "runtime.seed is 9223372036854775808, but must be an integer from 0 to "
       "9223372036854775807"},
      {"runtime: {device: gpu}", "runtime.device is gpu, but must be one of cpu, cuda, auto"},
      {"runtime: {device: CPU}", "runtime.device is CPU, but must be one of cpu, cuda, auto"},
      {"runtime: {compile_mode: null}",
       "runtime.compile_mode is null, but must be one of default, reduce-overhead, max-autotune"},
      {"optimizer: {lr: -1e-3}", "optimizer.lr is -1e-3, but must be a number of at least 0"},
      {"optimizer: {lr: .nan}", "optimizer.lr is .nan, but must be a number"},
      {"optimizer: {lr: nan}", "optimizer.lr is nan, but must be a number"},
      {"optimizer: {lr: inf}", "optimizer.lr is inf, but must be a number"},
      {"optimizer: {lr: 1e999}", "optimizer.lr is 1e999, but must be a number"},
      {"optimizer: {lr: +-1}", "optimizer.lr is +-1, but must be a number"},
      {"optimizer: {eps: 0}", "optimizer.eps is 0, but must be a number of at least 1e-30"},
      {"optimizer: {eps: 1e-50}", "optimizer.eps is 1e-50, but must be a number of at least 1e-30"},
      {"model: {norm_eps: 1e-46}",
       "model.norm_eps is 1e-46, but must be a number of at least 1e-30"},
      {"model: {rope_theta: 0}", "model.rope_theta is 0, but must be a number greater than 0"},
      {"optimizer: {beta1: 1}", "optimizer.beta1 is 1, but must be a number from 0 to below 1"},
      {"optimizer: {warmup_fraction: 1.01}",
       "optimizer.warmup_fraction is 1.01, but must be a number from 0 to 1"},
      {"optimizer: {grad_clip: 0}",
       "optimizer.grad_clip is 0, but must be null or a number greater than 0"},
      {"training: {tokens_per_parameter: 1e7}",
       "training.tokens_per_parameter is 1e7, but must be a number greater than 0 and at most "
       "1000000"},
      // Groups inside a section.
      {"decentralized: {adaptive_consensus: 0.5}",
       "a.yaml:1: decentralized.adaptive_consensus must be null or a mapping of settings, but is "
       "0.5"},
      {"decentralized: {adaptive_consensus: {}}", "a mapping of settings, but is an empty one"},
      {"decentralized:\n  adaptive_consensus:\n    start: 1\n",
       "a.yaml:3: unknown setting decentralized.adaptive_consensus.start; did you mean"},
      {"decentralized:\n  adaptive_consensus: {p: 1, p: 2}\n",
       "a.yaml:2: decentralized.adaptive_consensus.p is given a second time in this file"},
      {"decentralized: {adaptive_consensus: {start_frac: 1.5}}",
       "decentralized.adaptive_consensus.start_frac is 1.5, but must be null or a number from 0 to "
       "1"},
      {"decentralized: {topology: ring}",
       "decentralized.topology is ring, but must be one of complete, one_peer_ring, "
       "one_peer_exponential"},
      // The form of the file.
      {"model:\n  layers: 2\n  heads: 2\n  layers: 3\n",
       "a.yaml:4: model.layers is given a second time in this file"},
      {"model: {layers: 2}\nmodel: {heads: 2}\n",
       "a.yaml:2: section model is given a second time in this file"},
      {"model: {layers: 2\n", "a.yaml:2: not valid YAML: end of map flow not found"},
      {"model:\n\tlayers: 2\n", "not valid YAML: "},
      {"- model\n", "a.yaml: must be a mapping of sections (model, training, ...), but is [model]"},
      {"model\n", "a.yaml: must be a mapping of sections (model, training, ...), but is model"},
      {"model: 3\n", "a.yaml:1: section model must be a mapping of settings, but is 3"},
      {"[a]: 3\n", "a.yaml:1: a key must be a name, but is [a]"},
      {"---\nmodel: {layers: 2}\n---\nmodel: {heads: 2}\n",
       "a.yaml: contains several YAML documents, but must contain one"},
      {",model: 2\n", "a.yaml: contains several YAML documents, but must contain one"},
      {"\"a\\nb\": 3\n", "a.yaml:1: unknown section a\\x0ab; the sections are"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    expect_error(ErrorKind::kConfig, {refusal.message}, [&] { from_yaml(refusal.text); });
  }
}

TEST(Refusals, OfOverrides) {
  const std::vector<Refusal> refusals = {
      {"optimizer.lrr=1",
       "--set optimizer.lrr=1: unknown setting optimizer.lrr; did you mean optimizer.lr?"},
      {"learning_rate=1", "--set learning_rate=1: unknown setting learning_rate; the sections are"},
      {"micro_batch_size=1",
       "unknown setting micro_batch_size; did you mean "
       "training.micro_batch_size?"},
      {"model=1", "unknown setting model; the settings of model are vocab_size, context_length"},
      {"models.layers=1", "unknown setting models.layers; did you mean model.layers?"},
      {"model.layers=x",
       "--set model.layers=x: model.layers is x, but must be an integer from 1 to 1024"},
      {"model.layers=", "model.layers is null, but must be an integer"},
      {"optimizer.weight_decay=+-0", "optimizer.weight_decay is +-0, but must be a number"},
      {"model.layers=2 3", "model.layers is 2 3, but must be an integer"},
      {"model.layers=[2", "--set model.layers=[2: not valid YAML: "},
      {"model.layers=*a", "--set model.layers=*a: not valid YAML: "},
      {"data.cache=null", "data.cache is null, but must be a non-empty path in UTF-8"},
      {"data.cache=\xff", "but must be a non-empty path in UTF-8"},
      {"optimizer.lr=1\n2",
       "--set optimizer.lr=1\\x0a2: optimizer.lr is 1 2, but must be a number"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    expect_error(ErrorKind::kConfig, {refusal.message}, [&] { with_overrides({refusal.text}); });
  }
  for (const std::string text : {"model.layers", "=3", ""}) {
    expect_error(ErrorKind::kUsage, {"--set " + text + ": must have the form dotted.key=value"},
                 [&] { with_overrides({text}); });
  }
}

TEST(Refusals, LeaveTheSettingAsItWas) {
  Settings settings;
  EXPECT_THROW(apply_override("training.checkpoint_epochs=[1, x]", settings), Error);
  EXPECT_THROW(apply_override("optimizer.grad_clip=0", settings), Error);
  EXPECT_EQ(settings, Settings{});
}

TEST(Suggest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("width", "wdith"), 1);
  EXPECT_EQ(edit_distance("ca", "abc"), 3);  // optimal string alignment: no edit between a swap
}

}  // namespace
}  // namespace saddle::config
