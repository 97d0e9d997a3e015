// The input of an analysis, good and bad: checkpoints, directions, counts, caches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "analysis/analysis_checkpoints.h"
#include "analysis/analysis_setup.h"
#include "analysis/analyzed_run.h"
#include "model/parameters.h"
#include "model/weights_file.h"
#include "support/expect_error.h"

namespace saddle::analysis {
namespace {

using ::testing::ElementsAre;

// Tensors of a weight file as doubles, which can be changed and written back.
class Tensors {
 public:
  explicit Tensors(const Path& file) {
    const model::SafetensorsReader reader(file);
    for (const model::TensorEntry& entry : reader.entries()) {
      std::vector<float> values(static_cast<size_t>(entry.bytes) / sizeof(float));
      reader.read(entry, 0, static_cast<int64_t>(values.size()), values.data());
      model::TensorEntry copy;
      copy.name = entry.name;
      copy.dtype = entry.dtype;
      copy.shape = entry.shape;
      tensors_.emplace_back(copy, std::move(values));
    }
  }

  std::vector<std::pair<model::TensorEntry, std::vector<float>>>& all() { return tensors_; }

  void write(const Path& file) const {
    std::vector<model::TensorEntry> entries;
    for (const auto& [entry, values] : tensors_) entries.push_back(entry);
    model::SafetensorsWriter writer(file, entries, {});
    for (const auto& [entry, values] : tensors_) {
      writer.write(values.data(), values.size() * sizeof(float));
    }
    writer.commit();
  }

 private:
  std::vector<std::pair<model::TensorEntry, std::vector<float>>> tensors_;
};

class AnalysisInput : public ::testing::Test {
 protected:
  AnalysisInput() {
    options_.checkpoints = {"final"};
    options_.cases = {curvature::DataCaseKind::kSeen};
    options_.noise_samples = 1;
    options_.random_samples = 1;
  }

  // The analysis must refuse before it creates the directory of results.
  void expect_refusal(ErrorKind kind, const std::vector<std::string>& parts) {
    expect_error(kind, parts, [&] { analyze(options_); });
    EXPECT_FALSE(std::filesystem::exists(run_.output()));
  }

  void expect_bad_direction(const Tensors& tensors, const std::vector<std::string>& parts) {
    const Path file = run_.directory / "bad.safetensors";
    tensors.write(file);
    options_.directions = {file};
    expect_refusal(ErrorKind::kData, parts);
  }

  // `file` becomes a copy of `other` while the first of two checkpoints is measured; the results
  // would then not belong to the file named at the start.
  void expect_change_noticed(const Path& file, const Path& other) {
    options_.checkpoints = {"epoch-005", "final"};
    const auto change = [&] {
      if (std::filesystem::exists(run_.output() / "epoch-005.seen.json")) {
        std::filesystem::copy_file(other, file, std::filesystem::copy_options::overwrite_existing);
      }
      return 0;
    };
    expect_error(ErrorKind::kData, {file.string(), "changed during the analysis"},
                 [&] { analyze(options_, change); });
    EXPECT_FALSE(std::filesystem::exists(run_.output() / "final.seen.json"));
  }

  Json measured(const std::string& name) {
    analyze(options_);
    return read_json(run_.output() / (name + ".seen.json"));
  }

  AnalyzedRun run_;
  AnalysisOptions options_ = run_.options();
};

TEST_F(AnalysisInput, AMissingCheckpoint) {
  options_.checkpoints = {"epoch-007"};
  expect_refusal(ErrorKind::kConfig,
                 {"no checkpoint 'epoch-007'", "epoch-005, epoch-005.state, epoch-010", "final"});
  options_.checkpoints = {"all", "final"};
  expect_refusal(ErrorKind::kUsage, {"'all' or names"});
}

TEST_F(AnalysisInput, ACheckpointOfAnotherShape) {
  Tensors tensors(run_.run() / "final.safetensors");
  tensors.all()[0].first.shape[0] /= 2;
  tensors.all()[0].second.resize(tensors.all()[0].second.size() / 61 * 30);
  tensors.write(run_.directory / "other.safetensors");
  options_.checkpoints = {(run_.directory / "other.safetensors").string()};
  expect_refusal(ErrorKind::kData, {"other.safetensors", tensors.all()[0].first.name, "shape"});
}

TEST_F(AnalysisInput, ADamagedCheckpoint) {
  train::plant_in_file(run_.run() / "final.safetensors", "norm.weight",
                       std::numeric_limits<float>::infinity());
  expect_refusal(ErrorKind::kData, {"final.safetensors", "norm.weight", "inf"});
}

TEST_F(AnalysisInput, ARunWithoutWeightsForAll) {
  for (const char* name : {"epoch-005", "epoch-010", "final"}) {
    std::filesystem::remove(run_.run() / (std::string(name) + ".safetensors"));
  }
  options_.checkpoints = {"all"};
  expect_refusal(ErrorKind::kConfig, {"no weights of an epoch", "final.state"});
  // By name a state file is accepted: it holds the same weights.
  options_.checkpoints = {"final.state.safetensors"};
  const Json content = measured("final.state");
  EXPECT_EQ(content["checkpoint"]["tokens"], 270 * 8);
  EXPECT_EQ(content["checkpoint"]["step"], 40);
  EXPECT_EQ(content["checkpoint"]["epoch"], 10);
}

TEST_F(AnalysisInput, StatesCountAsTheirWeights) {
  const std::vector<Checkpoint> found = find_checkpoints(
      run_.run(), run_.settings, {"final.state", "epoch-005", "epoch-010", "final"});
  ASSERT_EQ(found.size(), 2);
  EXPECT_THAT(found[0].names, ElementsAre("final.state", "epoch-010", "final"));
  EXPECT_THAT(found[1].names, ElementsAre("epoch-005"));
  EXPECT_NE(found[0].weights_sha256, found[1].weights_sha256);
}

TEST_F(AnalysisInput, WeightsFromElsewhereHaveNoPlaceInTheRun) {
  const Path file = run_.directory / "elsewhere.safetensors";
  Tensors(run_.run() / "final.safetensors").write(file);
  const Checkpoint found = find_checkpoint(run_.run(), run_.settings, file.string());
  EXPECT_FALSE(found.tokens.has_value());
  EXPECT_FALSE(found.step.has_value());
}

// Its second epoch is not the second of this run.
TEST_F(AnalysisInput, WeightsOfAnotherRunHaveNoPlaceInThisOne) {
  const auto expect_place = [&](const Path& file, bool known) {
    const Checkpoint found = find_checkpoint(run_.run(), run_.settings, file.string());
    EXPECT_EQ(found.epoch.has_value(), known) << file;
    EXPECT_EQ(found.step.has_value(), known) << file;
    EXPECT_EQ(found.tokens.has_value(), known) << file;
  };
  config::Settings other = run_.settings;
  other.training.max_tokens = 2 * 30 * 8;
  other.training.epoch_tokens = 30 * 8;
  other.runtime.output_dir = (run_.directory / "shorter").string();
  config::Settings other_data = run_.settings;
  other_data.data.cache = (run_.directory / "other_cache").string();
  other_data.runtime.output_dir = (run_.directory / "other_data").string();
  data::write_token_cache(other_data.data.cache, data::random_ids(297 * 8 + 1, 61, 5),
                          data::random_ids(24 * 8 + 4, 61, 2), 61);
  Log log = Log::silent();
  for (const config::Settings& settings : {other, other_data}) {
    train::run_training(settings, {}, log);
    for (const char* name : {"final.safetensors", "final.state.safetensors"}) {
      expect_place(Path(settings.runtime.output_dir) / name, false);
      expect_place(run_.run() / name, true);
    }
  }
}

TEST_F(AnalysisInput, ADirectoryThatIsNotARun) {
  options_.run = run_.directory / "nowhere";
  expect_refusal(ErrorKind::kConfig, {"nowhere", "resolved.yaml"});
}

TEST_F(AnalysisInput, BadDirections) {
  const Path weights = run_.run() / "final.safetensors";
  Tensors tensors(weights);
  tensors.all().pop_back();
  const std::string missing = Tensors(weights).all().back().first.name;
  expect_bad_direction(tensors, {"bad.safetensors", missing, "is missing"});

  tensors = Tensors(weights);
  tensors.all().push_back(tensors.all().back());
  tensors.all().back().first.name = "something.else";
  expect_bad_direction(tensors, {"bad.safetensors", "something.else", "not one of this model"});

  tensors = Tensors(weights);
  std::swap(tensors.all()[0].first.shape[0], tensors.all()[0].first.shape[1]);
  expect_bad_direction(tensors, {"bad.safetensors", "has shape [16, 61]", "[61, 16]"});

  tensors = Tensors(weights);
  tensors.all()[1].second[2] = std::numeric_limits<float>::quiet_NaN();
  expect_bad_direction(tensors, {"bad.safetensors", tensors.all()[1].first.name, "nan"});

  tensors = Tensors(weights);
  for (auto& [entry, values] : tensors.all()) std::fill(values.begin(), values.end(), 0.0F);
  expect_bad_direction(tensors, {"bad.safetensors", "zero"});

  options_.directions = {run_.run() / "final.state.safetensors"};
  expect_refusal(ErrorKind::kData, {"final.state.safetensors", "first_moment.embed"});

  options_.directions = {run_.directory / "not_there.safetensors"};
  expect_refusal(ErrorKind::kIo, {"not_there.safetensors"});
  options_.directions = {weights, weights};
  expect_refusal(ErrorKind::kConfig, {"two directions are named 'final'"});
}

TEST_F(AnalysisInput, ACheckpointThatChangesDuringTheAnalysis) {
  expect_change_noticed(run_.run() / "final.safetensors", run_.run() / "epoch-005.safetensors");
}

TEST_F(AnalysisInput, ADirectionThatChangesDuringTheAnalysis) {
  const Path file = run_.directory / "step.safetensors";
  std::filesystem::copy_file(run_.run() / "epoch-010.safetensors", file);
  options_.directions = {file};
  expect_change_noticed(file, run_.run() / "epoch-005.safetensors");
}

// The name of a direction is that of its file, but its contents also count.
TEST_F(AnalysisInput, AnotherDirectionWithTheSameNameIsRefusedLater) {
  const Path file = run_.directory / "step.safetensors";
  Tensors tensors(run_.run() / "epoch-005.safetensors");
  tensors.write(file);
  options_.directions = {file};
  analyze(options_);
  EXPECT_EQ(analyze(options_).reused, 1);
  tensors.all()[0].second[0] += 1;
  tensors.write(file);
  expect_error(ErrorKind::kConfig, {"analysis.directions (there ", "step"},
               [&] { analyze(options_); });
}

TEST_F(AnalysisInput, ADifferenceThatChangesDuringTheAnalysis) {
  const Path file = run_.directory / "end.safetensors";
  std::filesystem::copy_file(run_.run() / "epoch-010.safetensors", file);
  options_.between = {{"epoch-005", file.string()}};
  expect_change_noticed(file, run_.run() / "epoch-005.safetensors");
}

TEST_F(AnalysisInput, ADifferenceThatIsNotFinite) {
  train::plant_in_file(run_.run() / "epoch-005.safetensors", "norm.weight", -3e38F);
  train::plant_in_file(run_.run() / "epoch-010.safetensors", "norm.weight", 3e38F);
  options_.between = {{"epoch-005", "epoch-010"}};
  expect_refusal(ErrorKind::kData, {"epoch-005 to epoch-010", "norm.weight", "inf"});
}

TEST_F(AnalysisInput, TheDifferenceOfTheSameWeightsIsRefused) {
  options_.between = {{"epoch-010", "final"}};
  expect_refusal(ErrorKind::kData, {"epoch-010 and final", "zero"});
}

// The same direction from a file and as a difference gives the same results.
TEST_F(AnalysisInput, OwnDirectionsAreMeasured) {
  Tensors difference(run_.run() / "final.safetensors");
  Tensors begin(run_.run() / "epoch-005.safetensors");
  double squares = 0;
  for (size_t i = 0; i < difference.all().size(); ++i) {
    std::vector<float>& values = difference.all()[i].second;
    for (size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(static_cast<double>(values[k]) - begin.all()[i].second[k]);
      squares += static_cast<double>(values[k]) * values[k];
    }
  }
  difference.write(run_.directory / "step.safetensors");
  options_.directions = {run_.directory / "step.safetensors"};
  options_.between = {{"epoch-005", "final"}};
  options_.noise_samples = 0;
  options_.random_samples = 0;
  const Json content = measured("final");
  ASSERT_EQ(content["own"].size(), 2);
  const Json& file = content["own"][0];
  EXPECT_EQ(file["name"], "step");
  EXPECT_EQ(content["own"][1]["name"], "epoch-005 to final");
  EXPECT_EQ(content["own"][1]["quadratic_form"], file["quadratic_form"]);
  // A sum of about a thousand squares in a different order.
  EXPECT_NEAR(file["squared_norm"], squares, 1e-9 * squares);
  EXPECT_DOUBLE_EQ(file["rayleigh"],
                   file["quadratic_form"].get<double>() / file["squared_norm"].get<double>());
  EXPECT_TRUE(content["noise"].empty());
  EXPECT_TRUE(content["statistics"]["normalized_alignment"].is_null());
}

TEST_F(AnalysisInput, CountsOfZeroNeedAnotherDirection) {
  options_.noise_samples = 0;
  expect_refusal(ErrorKind::kUsage, {"--noise-samples is 0"});
  options_.noise_samples = 1;
  options_.random_samples = 0;
  expect_refusal(ErrorKind::kUsage, {"--random-samples is 0"});
  options_.random_samples = -1;
  options_.between = {{"epoch-005", "final"}};
  expect_refusal(ErrorKind::kUsage, {"--random-samples is -1"});
}

TEST_F(AnalysisInput, OptionsOutOfRange) {
  const AnalysisOptions good = options_;
  options_.amp = true;
  options_.dtype = config::Precision::kFloat64;
  expect_refusal(ErrorKind::kUsage, {"--amp"});
  options_ = good;
  options_.memory_gib = 0;
  expect_refusal(ErrorKind::kUsage, {"--memory-gib is 0"});
  options_.memory_gib = std::numeric_limits<double>::quiet_NaN();
  expect_refusal(ErrorKind::kUsage, {"--memory-gib is nan"});
  options_ = good;
  options_.seed = -1;
  expect_refusal(ErrorKind::kUsage, {"--seed is -1"});
  options_ = good;
  options_.hvp_batch_size = -2;
  expect_refusal(ErrorKind::kUsage, {"--hvp-batch-size is -2"});
  options_ = good;
  options_.threads = -1;
  expect_refusal(ErrorKind::kUsage, {"--threads is -1"});
}

// The cache of the run is replaced by one that holds only the budget.
TEST_F(AnalysisInput, ACacheThatIsTooSmallForUnseen) {
  const std::vector<uint16_t> ids = data::random_ids(297 * 8 + 1, 61, 1);
  const Path small = run_.directory / "small";
  data::write_token_cache(small, {ids.begin(), ids.begin() + 270 * 8 + 1},
                          data::random_ids(24 * 8 + 4, 61, 2), 61);
  options_.cache = small;
  options_.cases = {curvature::DataCaseKind::kUnseen};
  expect_refusal(ErrorKind::kData, {"2377", "saddle prepare", "--cache"});
  // It begins like that of the run, which is enough for the case `seen`.
  options_.cases = {curvature::DataCaseKind::kSeen};
  analyze(options_);
  const std::string from_small = read_file(run_.output() / "final.seen.json");
  options_.cache.reset();
  options_.output = run_.directory / "again";
  analyze(options_);
  Json a = parse_json(from_small, "a"), b = read_json(options_.output / "final.seen.json");
  EXPECT_NE(a["identity"]["data.identity"], b["identity"]["data.identity"]);
  a.erase("identity");
  b.erase("identity");
  EXPECT_EQ(a, b);
}

TEST_F(AnalysisInput, ACacheOfOtherTokensIsRefused) {
  const Path other = run_.directory / "other";
  data::write_token_cache(other, data::random_ids(297 * 8 + 1, 61, 5),
                          data::random_ids(24 * 8 + 4, 61, 2), 61);
  options_.cache = other;
  expect_refusal(ErrorKind::kConfig, {"other"});
  options_.cache.reset();
  std::filesystem::remove_all(run_.settings.data.cache);
  std::filesystem::rename(other, run_.settings.data.cache);
  expect_refusal(ErrorKind::kConfig, {"not the one that the run was trained on", "--cache"});
}

// Three workers in a ring, which end with different weights.
class PackedAnalysisInput : public AnalysisInput {
 protected:
  PackedAnalysisInput() {
    config::Settings settings = run_.settings;
    settings.decentralized.num_models = 3;
    settings.decentralized.topology = config::Topology::kOnePeerRing;
    settings.training.micro_batch_size = 4;
    settings.training.batch_tokens = 3 * 4 * 8;
    settings.training.max_tokens = 270 * 8;
    settings.runtime.output_dir = (run_.directory / "packed").string();
    Log log = Log::silent();
    train::run_training(settings, {}, log);
    options_.run = settings.runtime.output_dir;
    options_.noise_samples = std::nullopt;
  }
};

TEST_F(PackedAnalysisInput, LocalBatchesAndConsensusErrorsAreMeasured) {
  options_.checkpoints = {"epoch-010"};
  const Json content = measured("epoch-010");
  // 27 sequences: two batches of 4 for each of 3 workers, then one of 1.
  ASSERT_EQ(content["noise"].size(), 9);
  EXPECT_EQ(content["noise"][4]["worker"], 1);
  EXPECT_EQ(content["noise"][4]["batch"], 1);
  EXPECT_EQ(content["noise"][4]["targets"], 4 * 8);
  EXPECT_EQ(content["noise"][8]["targets"], 1 * 8);
  ASSERT_EQ(content["consensus"].size(), 3);
  const Tensors average(options_.run / "epoch-010.safetensors");
  for (size_t worker = 0; worker < 3; ++worker) {
    Tensors own(options_.run / fmt::format("node-{:03}", worker) / "epoch-010.safetensors");
    Tensors mean = average;
    double squares = 0;
    for (size_t i = 0; i < own.all().size(); ++i) {
      for (size_t k = 0; k < own.all()[i].second.size(); ++k) {
        const double error = static_cast<double>(own.all()[i].second[k]) - mean.all()[i].second[k];
        squares += error * error;
      }
    }
    const Json& found = content["consensus"][worker];
    EXPECT_EQ(found["name"], fmt::format("worker {}", worker));
    // Each error is rounded to float32.
    EXPECT_NEAR(found["squared_norm"], squares, 1e-6 * squares);
    EXPECT_GT(squares, 0);
  }
}

TEST_F(PackedAnalysisInput, TheWorkersOfAPathAreNextToIt) {
  const config::Settings settings = studied_settings(options_.run, 1);
  const Path moved = run_.directory / "moved";
  std::filesystem::copy(options_.run, moved, std::filesystem::copy_options::recursive);
  Checkpoint by_name = find_checkpoint(options_.run, settings, "final");
  find_workers(options_.run, settings, by_name);
  for (const Path& path :
       {std::filesystem::absolute(moved), std::filesystem::proximate(moved), options_.run}) {
    Checkpoint found =
        find_checkpoint(options_.run, settings, (path / "final.safetensors").string());
    find_workers(options_.run, settings, found);
    std::vector<Path> files;
    for (const HashedWeights& worker : found.workers) files.push_back(worker.file);
    EXPECT_THAT(
        files, ElementsAre(path / "node-000/final.safetensors", path / "node-001/final.safetensors",
                           path / "node-002/final.safetensors"));
    EXPECT_EQ(found.workers_sha256, by_name.workers_sha256);
    EXPECT_NE(found.workers[0].sha256, found.weights_sha256);
  }
  std::filesystem::remove_all(moved / "node-001");
  options_.checkpoints = {(moved / "final.safetensors").string()};
  expect_refusal(ErrorKind::kConfig, {"worker 1", "--no-consensus"});
}

TEST_F(PackedAnalysisInput, OtherWorkersOrNoneAreRefusedLater) {
  options_.checkpoints = {"final"};
  analyze(options_);
  EXPECT_EQ(analyze(options_).reused, 1);
  options_.consensus = false;
  expect_error(ErrorKind::kConfig, {"analysis.consensus (there true, now false)"},
               [&] { analyze(options_); });
  options_.consensus = true;
  const Path worker = options_.run / "node-001" / "final.safetensors";
  Tensors tensors(worker);
  tensors.all()[0].second[0] += 1;
  tensors.write(worker);
  expect_error(ErrorKind::kConfig, {"final.seen.json", "case.workers_sha256"},
               [&] { analyze(options_); });
}

TEST_F(PackedAnalysisInput, AWorkerThatChangesDuringTheAnalysis) {
  expect_change_noticed(options_.run / "node-001" / "final.safetensors",
                        options_.run / "node-002" / "final.safetensors");
}

TEST_F(PackedAnalysisInput, WithoutTheWeightsOfAWorker) {
  std::filesystem::remove(options_.run / "node-001" / "final.safetensors");
  std::filesystem::remove(options_.run / "node-000" / "epoch-010.safetensors");
  options_.checkpoints = {"final"};
  expect_refusal(ErrorKind::kConfig, {"worker 1", "--no-consensus"});
  options_.consensus = false;
  EXPECT_TRUE(measured("final")["consensus"].empty());
}

}  // namespace
}  // namespace saddle::analysis
