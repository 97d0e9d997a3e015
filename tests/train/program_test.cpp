// The commands train and evaluate, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/exit_codes.h"
#include "config/load.h"
#include "support/child_process.h"
#include "support/run_program.h"
#include "train/checkpoints.h"
#include "train/small_run.h"

namespace saddle::train {
namespace {

using ::testing::HasSubstr;

// A run with its settings in a file. With `slow`, 40 updates take seconds instead of milliseconds.
struct ProgramRun : SmallRun {
  explicit ProgramRun(bool slow = false) {
    if (slow) {
      settings.model.width = 64;
      settings.model.ffn_width = 256;
      settings.model.layers = 3;
      settings.model.context_length = 32;
      settings.training.batch_tokens = 32 * 32;
      settings.training.micro_batch_size = 16;
      settings.training.max_tokens = 40 * 32 * 32;
      settings.training.epoch_tokens = 7 * 32 * 32 - 50;
      settings.data.cache = (directory / "longer").string();
      data::write_token_cache(settings.data.cache, data::random_ids(40 * 32 * 32 + 1, 61, 1),
                              data::random_ids(1000, 61, 2), 61);
    }
  }

  std::string arguments(const std::string& command) const {
    write_file_atomically(directory / "settings.yaml", config::to_yaml(settings));
    return command + " --config " + (directory / "settings.yaml").string();
  }

  // Starts the program with these arguments; its output goes to a file.
  std::unique_ptr<ChildProcess> start(const std::string& line) const {
    const std::string command =
        "exec '" SADDLE_PROGRAM "' " + line + " >>" + (directory / "printed").string() + " 2>&1";
    return std::make_unique<ChildProcess>([command] {
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      return 127;
    });
  }

  template <class Condition>
  void wait_until(Condition condition) const {
    for (const Stopwatch watch; watch.seconds() < 60;) {
      if (condition()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "nothing happened within a minute";
  }
  size_t log_size() const {
    const Path path = file("run.log");
    return std::filesystem::exists(path) ? std::filesystem::file_size(path) : 0;
  }
  Path file_of_metrics() const { return file("metrics.jsonl"); }
};

TEST(TrainCommand, TrainsAndEvaluates) {
  const ProgramRun run;
  const ProgramResult trained = run_saddle(run.arguments("train"));
  ASSERT_EQ(trained.exit_code, 0) << trained.errors;
  EXPECT_THAT(trained.errors, HasSubstr("epoch 10/10: validation loss"));
  EXPECT_THAT(trained.errors, HasSubstr("finished: validation loss"));
  const Json result = read_json(run.file("result.json"));

  const std::string weights = " --checkpoint " + run.file("final.safetensors").string();
  const std::string state = " --checkpoint " + run.file("final.state.safetensors").string();
  const ProgramResult text = run_saddle(run.arguments("evaluate") + weights);
  EXPECT_EQ(text.exit_code, 0) << text.errors;
  EXPECT_THAT(text.output, HasSubstr(fmt::format("loss        {:.6f} nats per token",
                                                 result.at("last").at("loss").get<double>())));
  EXPECT_THAT(text.output, HasSubstr("the fixed subset"));

  const ProgramResult printed = run_saddle(run.arguments("evaluate") + state + " --full --json");
  EXPECT_EQ(printed.exit_code, 0) << printed.errors;
  const Json full = parse_json(printed.output, "output");
  EXPECT_EQ(full.at("loss"), result.at("validation").at("loss"));
  EXPECT_EQ(full.at("targets"), 195);
  EXPECT_TRUE(full.contains("unigram_loss"));

  const std::string file = run.directory / "evaluation.json";
  EXPECT_EQ(run_saddle(run.arguments("evaluate") + weights + " --json " + file).exit_code, 0);
  EXPECT_EQ(read_json(file).at("loss"), result.at("last").at("loss"));
}

TEST(TrainCommand, EndsWithTheCodeOfItsError) {
  const ProgramRun run;
  ASSERT_EQ(run_saddle(run.arguments("train")).exit_code, 0);
  const ProgramResult used = run_saddle(run.arguments("train"));
  EXPECT_EQ(used.exit_code, exit_code(ErrorKind::kConfig));
  EXPECT_THAT(used.errors, HasSubstr("already contains a run"));

  const ProgramResult recipe =
      run_saddle(run.arguments("train") + " --resume auto --set optimizer.lr=0.5");
  EXPECT_EQ(recipe.exit_code, exit_code(ErrorKind::kConfig));
  EXPECT_THAT(recipe.errors, HasSubstr("optimizer.lr (expected 0.5, found 0.01)"));

  const Path state = run.file("final.state.safetensors");
  std::filesystem::resize_file(state, std::filesystem::file_size(state) / 2);
  const ProgramResult truncated =
      run_saddle(run.arguments("train") + " --resume " + state.string());
  EXPECT_EQ(truncated.exit_code, exit_code(ErrorKind::kData));
  EXPECT_THAT(truncated.errors, HasSubstr("final.state.safetensors"));

  const ProgramResult elsewhere =
      run_saddle(run.arguments("train") + " --set runtime.output_dir=/dev/null/run");
  EXPECT_EQ(elsewhere.exit_code, exit_code(ErrorKind::kIo));
  EXPECT_THAT(elsewhere.errors, HasSubstr("/dev/null"));
}

// A learning rate that leaves the range of float32 within a few updates.
TEST(TrainCommand, ADivergedRunEndsWithTheNumericCode) {
  ProgramRun run;
  run.settings.optimizer.lr = 1e38;
  run.settings.optimizer.warmup_fraction = 0;
  const ProgramResult result = run_saddle(run.arguments("train"));
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kNumeric)) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("before the weights changed"));
  EXPECT_FALSE(std::filesystem::exists(run.file("final.state.safetensors")));
  EXPECT_THAT(read_file(run.file("run.log")), HasSubstr("training ended after"));
}

// A run stopped by signals at random moments until it is done equals a run that was never stopped.
TEST(TrainCommand, ASignalAtAnyMomentChangesNothing) {
  const ProgramRun reference(true);
  const Stopwatch watch;
  ASSERT_EQ(run_saddle(reference.arguments("train")).exit_code, 0);
  const double duration = watch.seconds();

  const ProgramRun run(true);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  int stopped = 0;
  int status = -1;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, 0}) {
    const size_t logged = run.log_size();
    const auto child = run.start(run.arguments("train") + " --resume auto");
    if (signal != 0) {
      run.wait_until([&] { return run.log_size() > logged; });  // the handlers are installed by now
      // The first one comes early, so that there is one even on a much faster machine.
      const double longest = duration / (stopped == 0 ? 10 : 4);
      const double wait = std::uniform_real_distribution(0.0, longest)(random);
      std::this_thread::sleep_for(std::chrono::duration<double>(wait));
      child->kill(signal);
    }
    status = child->exit_status();
    if (status == kExitSuccess) break;
    ASSERT_EQ(status, kExitStopped) << read_file(run.directory / "printed");
    ++stopped;
  }
  EXPECT_EQ(status, kExitSuccess);
  EXPECT_GE(stopped, 1);
  EXPECT_EQ(numbers_of(run.file_of_metrics()), numbers_of(reference.file_of_metrics()));
  EXPECT_EQ(tensor_bytes(run.file("final.state.safetensors")),
            tensor_bytes(reference.file("final.state.safetensors")));
}

TEST(TrainCommand, ADirectoryInUseAndASecondSignal) {
  const ProgramRun run(true);
  const std::string arguments = run.arguments("train");
  const auto child = run.start(arguments);
  run.wait_until([&] { return std::filesystem::exists(run.file_of_metrics()); });
  const ProgramResult second = run_saddle(arguments + " --resume auto");
  EXPECT_EQ(second.exit_code, exit_code(ErrorKind::kIo));
  EXPECT_THAT(second.errors, HasSubstr(fmt::format("locked by process {}", child->id())));
  child->kill(SIGSTOP);  // so that both signals arrive before the update can end
  child->kill(SIGTERM);
  child->kill(SIGUSR1);
  child->kill(SIGCONT);
  EXPECT_TRUE(WIFSIGNALED(child->wait()));
  EXPECT_FALSE(std::filesystem::exists(run.file("latest.state.safetensors")));
}

}  // namespace
}  // namespace saddle::train
