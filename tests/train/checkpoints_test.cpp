#include "train/checkpoints.h"

#include <gtest/gtest.h>

#include <set>

#include "model/weights_file.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/test_context.h"
#include "train/small_run.h"

namespace saddle::train {
namespace {

using config::CheckpointPolicy;
using Names = std::set<std::string>;

// The safetensors files of a finished run of three epochs.
Names files_of(CheckpointPolicy policy, std::vector<int64_t> epochs) {
  SmallRun run;
  run.settings.training.max_tokens = 3 * 27 * 8;
  run.settings.training.checkpoint_policy = policy;
  run.settings.training.checkpoint_epochs = std::move(epochs);
  run.settings.training.checkpoint_every = 5;
  EXPECT_TRUE(run.train().completed);
  Names names;
  for (const auto& entry : std::filesystem::directory_iterator(run.settings.runtime.output_dir)) {
    const std::string name = entry.path().filename();
    if (name.find(".safetensors") != std::string::npos) names.insert(name);
  }
  return names;
}

const Names kFinal = {"final.safetensors", "final.state.safetensors"};

Names with_epochs(Names names, const std::vector<std::string>& epochs) {
  for (const std::string& epoch : epochs) {
    names.insert("epoch-" + epoch + ".safetensors");
    names.insert("epoch-" + epoch + ".state.safetensors");
  }
  return names;
}

TEST(CheckpointPolicy, DecidesWhichFilesARunKeeps) {
  EXPECT_EQ(files_of(CheckpointPolicy::kFinal, {}), kFinal);
  EXPECT_EQ(files_of(CheckpointPolicy::kNone, {}), Names{});
  EXPECT_EQ(files_of(CheckpointPolicy::kInterval, {2}), with_epochs(kFinal, {"002"}));
  EXPECT_EQ(files_of(CheckpointPolicy::kExplicit, {1, 3}), with_epochs(kFinal, {"001", "003"}));
  Names all = with_epochs(kFinal, {"001", "002", "003"});
  all.insert("latest.state.safetensors");
  EXPECT_EQ(files_of(CheckpointPolicy::kAll, {}), all);
}

TEST(Checkpoints, TheRollingStateIsThatOfTheLastMultiple) {
  SmallRun run;
  run.settings.training.checkpoint_policy = CheckpointPolicy::kAll;
  run.settings.training.checkpoint_every = 7;
  run.train();
  EXPECT_EQ(StateFile(run.file("latest.state.safetensors")).state().step, 35);
}

TEST(Checkpoints, WeightFilesContainTheWeightsOfTheState) {
  SmallRun run;
  run.train();
  const auto state = tensor_bytes(run.file("final.state.safetensors"));
  const auto weights = tensor_bytes(run.file("final.safetensors"));
  const model::Parameters parameters(run.settings.model);
  const std::vector<tensor::Slot>& slots = parameters.layout.slots();
  EXPECT_EQ(weights.size(), slots.size());
  EXPECT_EQ(state.size(), 3 * slots.size());
  for (const auto& [name, bytes] : weights) EXPECT_EQ(bytes, state.at(name)) << name;
}

// A state is read back as it was written, for every worker.
template <class T>
void check_round_trip(int64_t workers) {
  const TemporaryDirectory directory;
  const config::Settings settings = small_settings(directory.path());
  backend::Context context = test_context(1);
  TrainedModel<T> written(context, settings, workers);
  uint64_t seed = 1;
  const auto randomize = [&](backend::Arena<T>& arena) {
    for (int64_t n = 0; n < workers; ++n) {
      std::vector<double> values = golden::parameters_to_host(arena, 0, n);
      const RandomStream random(seed++, RandomPurpose::kTest);
      for (size_t i = 0; i < values.size(); ++i) values[i] = random.normal(i);
      golden::parameters_from_host(values, arena, 0, n);
    }
  };
  randomize(written.weights);
  randomize(written.optimizer.first_moments());
  randomize(written.optimizer.second_moments());

  RunState state;
  state.step = 12;
  state.position = 81;
  state.evaluated_epochs = 3;
  state.train_loss = 0.1 + 0.2;
  state.best = EvaluationRecord{2, 8, 432, {1.0 / 3.0, 1.4, 80, 0.25, false}};
  state.last_evaluation =
      EvaluationRecord{3, 12, 648, {std::nan(""), std::nan(""), 80, 0.25, false}};
  state.seconds = {1, 2, 3, 4, 5};
  const Json recipe = run_recipe(settings, "identity", workers);
  save_state<T>(directory / "x.state.safetensors", state, recipe, written);

  const StateFile file(directory / "x.state.safetensors");
  file.check_recipe(recipe);
  EXPECT_EQ(to_json(file.state()), to_json(state));
  EXPECT_EQ(file.state().train_loss, state.train_loss);  // bit for bit through the text
  TrainedModel<T> read(context, settings, workers);
  file.load(read);
  for (int64_t n = 0; n < workers; ++n) {
    EXPECT_EQ(golden::parameters_to_host(read.weights, 0, n),
              golden::parameters_to_host(written.weights, 0, n));
    EXPECT_EQ(golden::parameters_to_host(read.optimizer.first_moments(), 0, n),
              golden::parameters_to_host(written.optimizer.first_moments(), 0, n));
    EXPECT_EQ(golden::parameters_to_host(read.optimizer.second_moments(), 0, n),
              golden::parameters_to_host(written.optimizer.second_moments(), 0, n));
  }
}

TEST(StateFile, ReadsBackWhatWasWritten) {
  check_round_trip<float>(1);
  check_round_trip<double>(1);
  check_round_trip<float>(3);
}

// Numbers that are not finite never replace good ones on disk.
TEST(Checkpoints, WithNumbersThatAreNotFiniteAreNotWritten) {
  const TemporaryDirectory directory;
  const config::Settings settings = small_settings(directory.path());
  backend::Context context = test_context(1);
  TrainedModel<double> trained(context, settings, 2);
  const auto save = [&] {
    save_state<double>(directory / "x.state.safetensors", {}, {{"a", 1}}, trained);
  };
  save();
  const std::string good = read_file(directory / "x.state.safetensors");
  for (const auto& [arena, tensor] :
       {std::pair{&trained.weights, "worker-001.norm.weight"},
        {&trained.optimizer.first_moments(), "worker-001.first_moment.norm.weight"},
        {&trained.optimizer.second_moments(), "worker-001.second_moment.norm.weight"}}) {
    for (const double bad : {std::nan(""), HUGE_VAL}) {
      plant<double>(*arena, "norm.weight", 1, bad);
      expect_error(ErrorKind::kNumeric,
                   {"x.state.safetensors was not written", tensor, "element 3"}, save);
      EXPECT_EQ(read_file(directory / "x.state.safetensors"), good);
    }
    plant<double>(*arena, "norm.weight", 1, 0);
  }
  // A weight file is float32: numbers out of its range are refused, too.
  plant<double>(trained.weights, "norm.weight", 0, 1e39);
  expect_error(
      ErrorKind::kNumeric, {"x.safetensors was not written", "norm.weight holds inf"},
      [&] { model::save_weights<double>(directory / "x.safetensors", trained.weights, 0, {}); });
  save();  // the state is float64
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1)
      << "no unfinished file remains";
}

TEST(StateFile, RefusesFilesThatAreNotStates) {
  SmallRun run;
  run.settings.training.max_tokens = 27 * 8;
  run.train();
  expect_error(ErrorKind::kData, {"final.safetensors", "state of a run"},
               [&] { StateFile(run.file("final.safetensors")); });
  expect_error(ErrorKind::kIo, {"missing"}, [&] { StateFile(run.file("missing")); });

  const Path state = run.file("final.state.safetensors");
  std::filesystem::resize_file(state, std::filesystem::file_size(state) - 5);
  expect_error(ErrorKind::kData, {"final.state.safetensors"}, [&] { StateFile file(state); });
}

// A state whose metadata was edited by hand.
void write_metadata(const Path& path, const std::string& text) {
  model::SafetensorsWriter writer(path, {{"x", "F32", {1}}}, {{"saddle.state", text}});
  const float x = 1;
  writer.write(&x, sizeof x);
  writer.commit();
}

TEST(StateFile, RefusesDamagedCounters) {
  const TemporaryDirectory directory;
  const Path path = directory / "x.state.safetensors";
  const std::pair<const char*, const char*> cases[] = {
      {"{", "not valid JSON"},
      {"[]", "version"},
      {R"({"version": 2})", "version 1, found 2"},
      {R"({"version": 1})", "recipe is missing"},
      {R"({"version": 1, "recipe": {}})", "counters"},
      {R"({"version": 1, "recipe": {}, "counters": {"step": "many"}})", "counters"},
      {R"({"version": 1, "recipe": {}, "counters": {"step": 1e300}})", "expected an integer"},
  };
  for (const auto& [text, message] : cases) {
    write_metadata(path, text);
    expect_error(ErrorKind::kData, {"x.state.safetensors", message}, [&] { StateFile file(path); });
  }
}

TEST(StateFile, NamesTheFieldsOfAnotherRecipe) {
  const TemporaryDirectory directory;
  config::Settings settings = small_settings(directory.path());
  backend::Context context = test_context(1);
  const TrainedModel<float> trained(context, settings, 1);
  const Path path = directory / "x.state.safetensors";
  save_state<float>(path, {}, run_recipe(settings, "aaa", 1), trained);
  const StateFile file(path);
  settings.optimizer.lr = 0.5;
  settings.runtime.seed = 7;
  expect_error(ErrorKind::kConfig,
               {"optimizer.lr (expected 0.5, found 0.01)", "runtime.seed (expected 7, found 42)",
                "data.identity (expected \"bbb\", found \"aaa\")", "workers (expected 8, found 1)"},
               [&] { file.check_recipe(run_recipe(settings, "bbb", 8)); });
}

}  // namespace
}  // namespace saddle::train
