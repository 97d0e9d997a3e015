// Runs of several workers: their files, their resume, their commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/exit_codes.h"
#include "config/load.h"
#include "model/weights_file.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/run_program.h"
#include "support/test_context.h"
#include "train/checkpoints.h"
#include "train/run_pieces.h"

namespace saddle::train {
namespace {

using config::Scheme;
using config::Topology;
using ::testing::HasSubstr;

// 27 updates: nine epochs of 30 blocks, each with three updates of 10 blocks, 2 for each of 5
// workers. Their topology has cycles of three updates.
void five_workers(config::Settings& settings) {
  settings.decentralized.num_models = 5;
  settings.decentralized.topology = Topology::kOnePeerExponential;
  settings.training.micro_batch_size = 2;
  settings.training.batch_tokens = 10 * 8;
  settings.training.max_tokens = 270 * 8;
  settings.training.epoch_tokens = 30 * 8;
}

// 15 updates: five epochs of 27 blocks, each with three updates of 9 blocks.
void three_workers(config::Settings& settings) {
  settings.decentralized.num_models = 3;
  settings.decentralized.topology = Topology::kOnePeerRing;
  settings.training.micro_batch_size = 3;
  settings.training.batch_tokens = 9 * 8;
  settings.training.max_tokens = 135 * 8;
  settings.training.epoch_tokens = 27 * 8;
}

// Cut after the first, second and third update of a cycle, and at the end of an epoch.
TEST(PackedResume, InTheMiddleOfACycleIsBitForBitTheSame) {
  compare_pieces(five_workers, {4, 8, 12, 13, 27});
  const auto adaptive = [](config::Settings& settings) {
    five_workers(settings);
    settings.decentralized.scheme = Scheme::kAdaptThenCombine;
    settings.decentralized.adaptive_consensus = {.start_frac = 0.3, .p = 0.5};
    settings.runtime.dtype = config::Precision::kFloat64;
  };
  compare_pieces(adaptive, {7, 8, 16});
  const auto ring = [](config::Settings& settings) {
    three_workers(settings);
    settings.runtime.threads = kManyThreads;
  };
  compare_pieces(ring, {4, 5});
}

// Nothing is trained or evaluated on the subset, but the average is needed for the weights.
TEST(PackedResume, OfAFinishedRunGivesTheSameResult) {
  SmallRun reference, run;
  for (SmallRun* each : {&reference, &run}) {
    three_workers(each->settings);
    ASSERT_TRUE(each->train().completed);
  }
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(run.train(resume_from("auto")).completed);
    expect_same_run(run, reference);
  }
}

TEST(PackedResume, RefusesAStateOfOtherWorkers) {
  SmallRun run;
  three_workers(run.settings);
  run.train();
  const auto refused = [&](const std::string& message, auto configure) {
    config::Settings settings = run.settings;
    configure(settings);
    Log log = Log::silent();
    expect_error(ErrorKind::kConfig, {"another recipe", message},
                 [&] { run_training(settings, resume_from("auto"), log); });
  };
  refused("decentralized.num_models (expected 1, found 3)",
          [](config::Settings& s) { s.decentralized.num_models = 1; });
  refused("decentralized.num_models (expected 9, found 3)", [](config::Settings& s) {
    s.decentralized.num_models = 9;
    s.training.micro_batch_size = 1;
  });
  refused("decentralized.topology (expected \"complete\", found \"one_peer_ring\")",
          [](config::Settings& s) { s.decentralized.topology = Topology::kComplete; });
  refused("decentralized.scheme (expected \"atc\", found \"awc\")",
          [](config::Settings& s) { s.decentralized.scheme = Scheme::kAdaptThenCombine; });
  refused("decentralized.adaptive_consensus.start_frac (expected 0.5, found null)",
          [](config::Settings& s) { s.decentralized.adaptive_consensus.start_frac = 0.5; });
}

backend::Arena<float> weights_in(const SmallRun& run, const std::string& name,
                                 backend::Context& context) {
  const model::Parameters parameters(run.settings.model);
  backend::Arena<float> weights(context, parameters.layout, 1);
  model::load_weights<float>(run.file(name), run.settings.model, weights);
  return weights;
}

TEST(PackedRun, KeepsTheAverageTheWorkersAndTheState) {
  SmallRun run;
  three_workers(run.settings);
  run.settings.training.checkpoint_policy = config::CheckpointPolicy::kExplicit;
  run.settings.training.checkpoint_epochs = {2};
  run.settings.runtime.dtype = config::Precision::kFloat64;  // the files are float32
  ASSERT_TRUE(run.train().completed);

  std::set<std::string> names;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(run.settings.runtime.output_dir)) {
    if (entry.path().extension() != ".safetensors") continue;
    names.insert(std::filesystem::relative(entry.path(), run.settings.runtime.output_dir));
  }
  EXPECT_EQ(names, (std::set<std::string>{
                       "epoch-002.safetensors", "epoch-002.state.safetensors",
                       "node-000/epoch-002.safetensors", "node-001/epoch-002.safetensors",
                       "node-002/epoch-002.safetensors", "final.safetensors",
                       "final.state.safetensors", "node-000/final.safetensors",
                       "node-001/final.safetensors", "node-002/final.safetensors"}));

  backend::Context context = test_context(1);
  for (const std::string name : {"epoch-002", "final"}) {
    const auto state = tensor_bytes(run.file(name + ".state.safetensors"));
    const model::Parameters parameters(run.settings.model);
    EXPECT_EQ(state.size(), 3 * 3 * parameters.layout.slots().size());
    const std::string file = name + ".safetensors";
    const auto average = golden::parameters_to_host(weights_in(run, file, context));
    std::vector<double> sum(average.size(), 0.0);
    for (const char* node : {"node-000/", "node-001/", "node-002/"}) {
      const auto x = golden::parameters_to_host(weights_in(run, node + file, context));
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += x[i] / 3;
      EXPECT_GT(golden::relative_l2(x, average), 1e-6) << "the workers differ";
    }
    // The workers are rounded to float32 before the mean, the average after it.
    EXPECT_LT(golden::relative_l2(sum, average), 1e-7);
  }
}

TEST(PackedRun, AfterCompleteMixingAllWorkersAreTheSame) {
  SmallRun run;
  three_workers(run.settings);
  run.settings.decentralized.topology = Topology::kComplete;
  run.settings.decentralized.scheme = Scheme::kAdaptThenCombine;
  run.train();
  const auto average = tensor_bytes(run.file("final.safetensors"));
  for (const char* node : {"node-000", "node-001", "node-002"}) {
    EXPECT_EQ(tensor_bytes(run.file(node + std::string("/final.safetensors"))), average);
  }
  for (const Json& line : read_lines(run.file("metrics.jsonl"))) {
    if (line.at("type") != "train") continue;
    EXPECT_EQ(line.at("consensus_distance"), 0.0);
  }
}

TEST(PackedRun, LogsTheWorkersInTrainLines) {
  SmallRun run;
  three_workers(run.settings);
  run.settings.decentralized.adaptive_consensus = {.start_frac = 0.5, .p = 2.0};
  run.settings.optimizer.warmup_fraction = 0;
  run.settings.optimizer.min_lr_ratio = 0;
  const TrainOutcome outcome = run.train();
  ASSERT_TRUE(outcome.completed);
  int64_t updates = 0;
  double largest = 0;  // of the active updates: the rate of the first one
  for (const Json& line : read_lines(run.file("metrics.jsonl"))) {
    if (line.at("type") != "train") continue;
    ++updates;
    EXPECT_GT(line.at("largest_loss"), line.at("loss"));
    EXPECT_GT(line.at("consensus_distance"), 0.0);
    const double lr = line.at("lr");
    if (updates == 9) largest = lr;  // 15 updates, so ceil(7.5) = 8 are not active
    const double gamma = updates <= 8 ? 1.0 : (lr / largest) * (lr / largest);
    EXPECT_NEAR(line.at("gamma").get<double>(), gamma, 1e-14) << updates;
  }
  EXPECT_EQ(updates, 15);
  EXPECT_EQ(read_json(run.file("result.json")).at("workers"), 3);
}

TEST(PackedRun, LogsTheWorkersOfEveryUpdate) {
  SmallRun every, run;
  for (SmallRun* each : {&every, &run}) three_workers(each->settings);
  run.settings.training.log_every = 4;
  every.train();
  run.train();
  std::vector<Json> train_lines;
  for (const Json& line : read_lines(every.file("metrics.jsonl"))) {
    if (line.at("type") == "train") train_lines.push_back(line);
  }
  size_t updates = 0;
  for (const Json& line : read_lines(run.file("metrics.jsonl"))) {
    if (line.at("type") != "workers") continue;
    const Json& expected = train_lines.at(updates++);
    for (const char* key : {"step", "loss", "largest_loss", "grad_norm", "gamma"}) {
      EXPECT_EQ(line.at(key), expected.at(key)) << key << " of " << updates;
    }
  }
  EXPECT_EQ(updates, 15);
}

// With a rate of 0 the relative rate is not defined.
TEST(PackedRun, RefusesAdaptiveConsensusWithoutARate) {
  SmallRun run;
  three_workers(run.settings);
  run.settings.decentralized.adaptive_consensus.start_frac = 0.9;
  run.settings.optimizer.lr = 0;
  expect_error(ErrorKind::kConfig, {"largest learning rate from update 15 of 15"},
               [&] { run.train(); });
  run.settings.decentralized.adaptive_consensus.p = 0;
  EXPECT_TRUE(run.train().completed);
}

// One worker is an ordinary run, whatever the topology.
TEST(PackedRun, WithOneWorkerIsOrdinary) {
  SmallRun ordinary;
  ordinary.train();
  SmallRun one;
  one.settings.decentralized.topology = Topology::kOnePeerExponential;
  one.settings.decentralized.scheme = Scheme::kAdaptThenCombine;
  one.settings.decentralized.adaptive_consensus.start_frac = 0.5;
  one.train();
  expect_same_run(one, ordinary);
  EXPECT_FALSE(std::filesystem::exists(one.file("node-000")));
}

// Training, evaluation and export from the command line, with a cache of part of the split.
TEST(PackedCommand, WritesFilesThatTheOtherCommandsRead) {
  SmallRun run;
  three_workers(run.settings);
  run.settings.data.cache = (run.directory / "part").string();
  data::write_token_cache(run.settings.data.cache, data::random_ids(270 * 8 + 1, 61, 1),
                          data::random_ids(24 * 8 + 4, 61, 2), 61, data::kDefaultShardTokens,
                          false);
  write_file_atomically(run.directory / "settings.yaml", config::to_yaml(run.settings));
  const ProgramResult trained =
      run_saddle("train --config " + (run.directory / "settings.yaml").string());
  ASSERT_EQ(trained.exit_code, 0) << trained.errors;
  EXPECT_THAT(trained.errors, HasSubstr("3 workers mix: topology one_peer_ring, scheme awc"));
  EXPECT_THAT(trained.errors, HasSubstr("of an incomplete split"));
  const Json result = read_json(run.file("result.json"));
  EXPECT_FALSE(result.at("validation").at("validation_complete"));
  EXPECT_TRUE(std::filesystem::exists(run.file("final.state.safetensors")));

  const auto evaluate = [&](const std::string& name) {
    return run_saddle("evaluate --json --config " + run.file("resolved.yaml").string() +
                      " --checkpoint " + run.file(name).string());
  };
  const ProgramResult average = evaluate("final.safetensors");
  ASSERT_EQ(average.exit_code, 0) << average.errors;
  EXPECT_EQ(parse_json(average.output, "output").at("loss"), result.at("last").at("loss"));
  EXPECT_FALSE(parse_json(average.output, "output").at("validation_complete"));
  const ProgramResult worker = evaluate("node-002/final.safetensors");
  ASSERT_EQ(worker.exit_code, 0) << worker.errors;
  EXPECT_NE(parse_json(worker.output, "output").at("loss"), result.at("last").at("loss"));
  const ProgramResult state = evaluate("final.state.safetensors");
  EXPECT_EQ(state.exit_code, exit_code(ErrorKind::kData));
  EXPECT_THAT(state.errors, HasSubstr("holds the weights of several workers"));

  // Without --config, resolved.yaml is also searched above the directory of a worker.
  for (const std::string name : {"final.safetensors", "node-001/final.safetensors"}) {
    const Path exported = run.directory / "exported.safetensors";
    const ProgramResult written =
        run_saddle("export --format safetensors --checkpoint " + run.file(name).string() +
                   " --output " + exported.string());
    ASSERT_EQ(written.exit_code, 0) << written.errors;
    EXPECT_EQ(tensor_bytes(exported), tensor_bytes(run.file(name)));
    std::filesystem::remove(exported);
  }
}

}  // namespace
}  // namespace saddle::train
