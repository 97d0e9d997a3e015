// Grids of trainings: their names and interruptions, and that a stopped and continued sweep gives
// the same bits as one that ran through.
#include "bench/set_aside.h"
#include "bench/sweep_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/exit_codes.h"
#include "config/load.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "support/started_program.h"
#include "train/small_run.h"

namespace saddle::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A short training: settings in a file named 20m.yaml next to its cache.
struct SmallSweep : train::SmallRun {
  SmallSweep() { write_file_atomically(config, config::to_yaml(settings)); }
  Path config = directory / "20m.yaml";
  Path output = directory / "sweep";
  std::vector<GridAxis> axes = {parse_axis("optimizer.lr=0.001,0.01"),
                                parse_axis("optimizer.weight_decay=0,0.1")};

  SweepPlan plan() const { return plan_sweep({config.string()}, {}, axes, output); }
};

std::vector<std::string> names(const SweepPlan& plan) {
  std::vector<std::string> result;
  for (const SweepRun& run : plan.runs) result.push_back(run.name);
  return result;
}

TEST(Sweep, ReadsAnAxis) {
  const GridAxis lists = parse_axis("training.checkpoint_epochs=[1, 2],[3]");
  EXPECT_EQ(lists.key, "training.checkpoint_epochs");
  EXPECT_THAT(lists.values, ElementsAre("[1, 2]", "[3]"));
  EXPECT_THAT(parse_axis("optimizer.lr=1e-3").values, ElementsAre("1e-3"));
  for (const char* wrong : {"optimizer.lr", "=1", "optimizer.lr=", "optimizer.lr=1,,2"}) {
    expect_error(ErrorKind::kUsage, {std::string("--grid ") + wrong}, [&] { parse_axis(wrong); });
  }
}

TEST(Sweep, NamesRunsByTheirValues) {
  const SmallSweep sweep;
  const SweepPlan plan = sweep.plan();
  EXPECT_THAT(names(plan), ElementsAre("20m-lr0.001-wd0", "20m-lr0.001-wd0.1", "20m-lr0.01-wd0",
                                       "20m-lr0.01-wd0.1"));
  EXPECT_EQ(plan.runs[1].directory, sweep.output / "20m-lr0.001-wd0.1");
  EXPECT_THAT(
      train_words(plan, plan.runs[1]),
      ElementsAre("train", "--config", sweep.config.string(), "--set", "optimizer.lr=0.001",
                  "--set", "optimizer.weight_decay=0.1", "--set",
                  "runtime.output_dir=" + plan.runs[1].directory.string(), "--resume", "auto"));
  const SweepPlan other = plan_sweep(
      {sweep.config.string()}, {"optimizer.lr=0.5"},
      {parse_axis("optimizer.beta1=0.8,0.9"), parse_axis("training.checkpoint_epochs=[1, 2],3"),
       parse_axis("training.checkpoint_policy=explicit")},
      sweep.output);
  EXPECT_EQ(other.runs[0].name, "20m-beta10.8-checkpoint_epochs_1__2_-checkpoint_policyexplicit");
  EXPECT_EQ(other.runs.size(), 4U);
}

TEST(Sweep, RefusesGridsBeforeAnythingRuns) {
  const SmallSweep sweep;
  const auto refuse = [&](const std::vector<std::string>& texts, ErrorKind kind,
                          const std::string& part) {
    std::vector<GridAxis> axes;
    for (const std::string& text : texts) axes.push_back(parse_axis(text));
    expect_error(kind, {part},
                 [&] { plan_sweep({sweep.config.string()}, {}, axes, sweep.output); });
  };
  refuse({}, ErrorKind::kUsage, "at least one --grid");
  refuse({"optimizer.lr=1", "optimizer.lr=2"}, ErrorKind::kUsage, "optimizer.lr twice");
  refuse({"optimizer.lr=0.1,0.1"}, ErrorKind::kUsage, "the name '20m-lr0.1'");
  refuse({"optimizer.lr=0.1,0.10"}, ErrorKind::kUsage, "are the same training");
  refuse({"runtime.output_dir=a,b"}, ErrorKind::kUsage, "runtime.output_dir");
  refuse({"optimizer.lrr=0.1"}, ErrorKind::kConfig, "optimizer.lrr");
  refuse({"optimizer.lr=0.1,-1"}, ErrorKind::kConfig, "optimizer.lr");
  refuse({"training.micro_batch_size=4,3"}, ErrorKind::kConfig, "training.micro_batch_size (3)");
  EXPECT_FALSE(std::filesystem::exists(sweep.output));
}

// A training that only leaves a result, or the failure given by `fails`.
struct PlantedTraining {
  std::string fails;
  std::vector<std::string> started;

  StartTraining start() {
    return [this](const std::vector<std::string>& words, const std::function<int()>&) {
      const std::string text = fmt::format("{}", fmt::join(words, " "));
      started.push_back(text);
      ProcessResult result;
      result.exit_code = 0;
      if (!fails.empty() && text.find(fails) != std::string::npos) {
        result.exit_code = 6;
        result.errors = "saddle: error: the loss is nan\n";
        return result;
      }
      for (const std::string& word : words) {
        constexpr std::string_view kKey = "runtime.output_dir=";
        if (!word.starts_with(kKey)) continue;
        const Path run = word.substr(kKey.size());
        make_directories(run);
        write_json(run / "result.json",
                   {{"train_loss", 2.5}, {"validation", {{"loss", 2.25}}}, {"last", nullptr}});
      }
      return result;
    };
  }
};

const std::function<int()> kNoStop = [] { return 0; };

TEST(Sweep, KeepsARowForAFailedRunAndTriesItAgain) {
  const SmallSweep sweep;
  Log log = Log::silent();
  PlantedTraining training{.fails = "lr0.01-wd0 ", .started = {}};
  SweepOutcome outcome = run_sweep(sweep.plan(), training.start(), kNoStop, log);
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_FALSE(outcome.stopped);
  ASSERT_EQ(training.started.size(), 4U);
  const Json failed = read_json(sweep.output / "summary.json")["rows"][2];
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["failure"], "the loss is nan");
  EXPECT_EQ(failed["exit_code"], 6);
  EXPECT_THAT(read_file(failed["log"].get<std::string>()), HasSubstr("the loss is nan"));
  const Json progress = read_json(sweep.output / "progress.json");
  EXPECT_EQ(progress["state"], "finished");
  EXPECT_EQ(progress["finished"], 3);
  EXPECT_EQ(progress["failed"], 1);
  EXPECT_THAT(read_file(sweep.output / "summary.csv"),
              HasSubstr("20m-lr0.01-wd0.1,0.01,0.1,finished,,,2.5,,,2.25,,"));
  EXPECT_THAT(sweep_table(outcome.summary), HasSubstr("2.2500"));

  training = {};
  outcome = run_sweep(sweep.plan(), training.start(), kNoStop, log);
  EXPECT_EQ(outcome.exit_code, 0);
  ASSERT_EQ(training.started.size(), 1U);
  EXPECT_THAT(training.started[0], HasSubstr("lr0.01-wd0 "));
}

TEST(Sweep, ComparesTheNamesOfAllRuns) {
  const SmallSweep sweep;
  const SweepPlan plan = sweep.plan();
  make_directories(plan.directory);
  claim_sweep_directory(plan);
  claim_sweep_directory(plan);
  const Path path = plan.directory / "sweep.json";
  Json record = read_json(path);
  record.at("runs").at(1)["name"] = "planted";
  write_json(path, record);
  expect_error(ErrorKind::kConfig, {"another order", "run 2 is 'planted' there"},
               [&] { claim_sweep_directory(plan); });
}

TEST(Sweep, RefusesAnotherSweepInItsDirectory) {
  SmallSweep sweep;
  Log log = Log::silent();
  PlantedTraining training;
  run_sweep(sweep.plan(), training.start(), kNoStop, log);
  const auto refused = [&](const SweepPlan& plan, const std::string& key) {
    expect_error(ErrorKind::kConfig, {"another sweep", key},
                 [&] { run_sweep(plan, training.start(), kNoStop, log); });
  };
  const std::vector<std::string> configs = {sweep.config.string()};
  refused(plan_sweep(configs, {"optimizer.beta1=0.5"}, sweep.axes, sweep.output),
          "optimizer.beta1 (there 0.9, now 0.5)");
  // The device and the paths of a run may change.
  run_sweep(plan_sweep(configs, {"runtime.threads=2"}, sweep.axes, sweep.output), training.start(),
            kNoStop, log);
  // The same runs would have other names.
  std::swap(sweep.axes[0], sweep.axes[1]);
  expect_error(ErrorKind::kConfig,
               {"another order", "run 1 is '20m-lr0.001-wd0' there", "'20m-wd0-lr0.001' now"},
               [&] { run_sweep(sweep.plan(), training.start(), kNoStop, log); });
  std::swap(sweep.axes[0], sweep.axes[1]);
  sweep.axes[0].values.push_back("0.1");
  refused(sweep.plan(), "grid.optimizer.lr");
  sweep.axes.pop_back();
  refused(sweep.plan(), "grid.optimizer.weight_decay");
  EXPECT_EQ(training.started.size(), 4U);
}

TEST(Sweep, KeepsASecondOneOutOfItsDirectory) {
  const SmallSweep sweep;
  Log log = Log::silent();
  const StartTraining second = [&](const std::vector<std::string>&, const std::function<int()>&) {
    PlantedTraining none;
    expect_error(ErrorKind::kIo, {sweep.output.string()},
                 [&] { run_sweep(sweep.plan(), none.start(), kNoStop, log); });
    return ProcessResult{};
  };
  run_sweep(sweep.plan(), second, kNoStop, log);
}

// Training can neither start nor continue such a run in its directory.
TEST(Sweep, RestartsARunThatWasKilledBeforeItHadAState) {
  const SmallSweep sweep;
  const SweepPlan plan = sweep.plan();
  make_directories(plan.runs[0].directory);
  write_file_atomically(plan.runs[0].directory / "resolved.yaml", "runtime: {}\n");
  EXPECT_EQ(run_progress(plan.runs[0]), RunProgress::kUnfinished);
  Log log = Log::silent();
  PlantedTraining training;
  EXPECT_EQ(run_sweep(plan, training.start(), kNoStop, log).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(sweep.output / "20m-lr0.001-wd0.unfinished/resolved.yaml"));
  EXPECT_EQ(run_progress(plan.runs[0]), RunProgress::kFinished);
}

TEST(Sweep, RecognizesTheNamesOfRunsThatItSetAside) {
  const SmallSweep sweep;
  const SweepRun run = sweep.plan().runs[0];
  Log log = Log::silent();
  for (int i = 0; i < 3; ++i) {
    make_directories(run.directory);
    write_file_atomically(run.directory / "resolved.yaml", "runtime: {}\n");
    set_aside_what_cannot_go_on(run, log);
  }
  int64_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(sweep.output)) {
    EXPECT_TRUE(is_set_aside(entry.path().filename().string())) << entry.path();
    ++found;
  }
  EXPECT_EQ(found, 3);
  for (const char* other :
       {"a", "unfinished", "a.unfinished-", "a.unfinished-x", "a.unfinished2"}) {
    EXPECT_FALSE(is_set_aside(other)) << other;
  }
}

// The length of a name is checked before anything is made; names of logs count as well.
TEST(Sweep, RefusesNamesThatAreTooLong) {
  const SmallSweep sweep;
  const auto plan = [&](size_t digits) {
    const std::string zeros(digits, '0');
    return plan_sweep({sweep.config.string()}, {},
                      {parse_axis("optimizer.lr=0.1,0." + zeros + "1")}, sweep.output);
  };
  const size_t most = 255 - std::string("..log.tmp-4194304-0").size();
  const size_t others = std::string("20m-lr0.1").size();
  EXPECT_EQ(plan(most - others).runs[1].name.size(), most);
  expect_error(ErrorKind::kUsage, {"20m-lr0.000", "of 237 bytes", "at most 255, which leaves 236"},
               [&] { plan(most - others + 1); });
  EXPECT_FALSE(std::filesystem::exists(sweep.output));
}

// Stopped in the middle of its second run, continued, and compared with one that ran through.
TEST(SweepCommand, ContinuesToTheSameBits) {
  SmallSweep sweep;
  // Longer runs, so that the signal comes in the middle of one, also on a busy machine.
  constexpr int64_t kTokens = 270 * 8 * 16;
  sweep.settings.training.max_tokens = kTokens;
  sweep.settings.training.epoch_tokens = kTokens / 4;
  sweep.settings.model.layers = 4;
  sweep.settings.model.width = 32;
  write_file_atomically(sweep.config, config::to_yaml(sweep.settings));
  data::write_token_cache(sweep.directory / "longer", data::random_ids(kTokens + 1, 61, 1),
                          data::random_ids(24 * 8 + 4, 61, 2), 61);
  const std::string words = "sweep --config " + sweep.config.string() +
                            " --set data.cache=" + (sweep.directory / "longer").string() +
                            " --grid optimizer.lr=0.001,0.01 --grid optimizer.weight_decay=0,0.1";
  const std::string interrupted = (sweep.directory / "interrupted").string();
  const std::string whole = (sweep.directory / "whole").string();

  StartedProgram program(words + " --output " + interrupted);
  const Path metrics = Path(interrupted) / "20m-lr0.001-wd0.1/metrics.jsonl";
  for (const Stopwatch watch; train::read_lines(metrics).size() < 5 && watch.seconds() < 60;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  program.kill(SIGTERM);
  EXPECT_EQ(program.wait(), kExitStopped) << program.printed();
  const Json progress = read_json(Path(interrupted) / "progress.json");
  EXPECT_EQ(progress["state"], "stopped");
  EXPECT_EQ(progress["finished"], 1);
  EXPECT_EQ(progress["runs"][1]["status"], "unfinished");
  EXPECT_TRUE(
      std::filesystem::exists(Path(interrupted) / "20m-lr0.001-wd0.1/latest.state.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(Path(interrupted) / "20m-lr0.01-wd0"));

  const ProgramResult continued = run_saddle(words + " --output " + interrupted);
  EXPECT_EQ(continued.exit_code, kExitSuccess) << continued.errors;
  EXPECT_THAT(continued.output, HasSubstr("20m-lr0.01-wd0.1"));
  ASSERT_EQ(run_saddle(words + " --output " + whole).exit_code, kExitSuccess);
  const Json finished = read_json(Path(whole) / "sweep.json");
  for (const Json& run : finished["runs"]) {
    const Path file = Path(run["name"].get<std::string>()) / "final.state.safetensors";
    EXPECT_EQ(train::tensor_bytes(interrupted / file), train::tensor_bytes(whole / file)) << file;
  }
  const Json rows = read_json(Path(whole) / "summary.json")["rows"];
  const Json result = read_json(Path(whole) / "20m-lr0.01-wd0/result.json");
  EXPECT_EQ(rows[2]["validation_loss"], result["validation"]["loss"]);
  EXPECT_EQ(rows[2]["settings"]["optimizer.lr"], "0.01");
}

// A run whose loss is not finite does not end the others; the command exits with its kind of error.
TEST(SweepCommand, EndsWithTheCodeOfTheRunThatFailed) {
  const SmallSweep sweep;
  const ProgramResult result =
      run_saddle("sweep --config " + sweep.config.string() +
                 " --grid optimizer.lr=1e30,0.01 --output " + sweep.output.string());
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kNumeric)) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("saddle: error: not every run"));
  EXPECT_THAT(result.output, HasSubstr("finished"));
  const Json rows = read_json(sweep.output / "summary.json")["rows"];
  EXPECT_EQ(rows[0]["status"], "failed");
  EXPECT_EQ(rows[1]["status"], "finished");
}

// Without Slurm they would be ignored.
TEST(SweepCommand, RefusesOptionsOfSlurmWithoutIt) {
  const SmallSweep sweep;
  for (const char* option : {"--no-watch", "--walltime-hours 2", "--at-once 2", "--poll-seconds 1",
                             "--unknown-minutes 1", "--adopt 0=7", "--forget 0"}) {
    const ProgramResult result =
        run_saddle("sweep --config " + sweep.config.string() +
                   " --grid optimizer.lr=0.01 --output " + sweep.output.string() + " " + option);
    EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kUsage)) << option;
    EXPECT_THAT(result.errors, HasSubstr("--slurm")) << option;
  }
  EXPECT_FALSE(std::filesystem::exists(sweep.output));
}

// The words of a sweep of one long training.
std::string long_sweep(SmallSweep& sweep) {
  sweep.settings.training.max_tokens = 6'400'000;
  sweep.settings.training.epoch_tokens = 6'400'000;
  write_file_atomically(sweep.config, config::to_yaml(sweep.settings));
  data::write_token_cache(sweep.directory / "longer", data::random_ids(6'400'001, 61, 1),
                          data::random_ids(24 * 8 + 4, 61, 2), 61);
  return "sweep --config " + sweep.config.string() +
         " --set data.cache=" + (sweep.directory / "longer").string() +
         " --grid optimizer.lr=0.001 --output " + sweep.output.string();
}

void wait_for_metrics(const Path& run) {
  for (const Stopwatch watch;
       !std::filesystem::exists(run / "metrics.jsonl") && watch.seconds() < 60;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// The lock of the training gives its process id.
TEST(SweepCommand, EndsLikeItsTrainingThatASignalEnded) {
  for (const auto& [signal, code] : {std::pair(SIGTERM, kExitStopped), std::pair(SIGKILL, 70)}) {
    SmallSweep sweep;
    StartedProgram program(long_sweep(sweep));
    const Path run = sweep.output / "20m-lr0.001";
    wait_for_metrics(run);
    std::istringstream holder(read_file(run / "lock"));
    std::string word;
    pid_t training = 0;
    holder >> word >> training;
    ASSERT_GT(training, 1);
    ::kill(training, signal);
    EXPECT_EQ(program.wait(), code) << program.printed();
    EXPECT_EQ(read_json(sweep.output / "summary.json")["rows"][0]["exit_code"], code);
  }
}

// A training that continued alone would lock its directory against the next call.
TEST(SweepCommand, EndsItsTrainingWhenKilled) {
  SmallSweep sweep;
  StartedProgram program(long_sweep(sweep));
  const Path run = sweep.output / "20m-lr0.001";
  wait_for_metrics(run);
  program.kill(SIGKILL);
  program.wait();
  const auto is_free = [&] {
    try {
      const FileLock lock(run / "lock", "the test");
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  const Stopwatch watch;
  while (!is_free() && watch.seconds() < 20) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(is_free());
}

}  // namespace
}  // namespace saddle::bench
