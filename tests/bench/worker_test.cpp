// benchmark-worker: its record, its profile, and how it ends.
#include "bench/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "backend/tensor.h"
#include "base/candidate.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/telemetry.h"
#include "bench/profile_summary.h"
#include "model/initial_weights.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "support/started_program.h"
#include "support/token_cache.h"
#include "train/update.h"

namespace saddle::bench {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kVocabulary = 300;

// An update is 4 sequences of 32 tokens in microbatches of 2; the cache holds 12 sequences.
struct SmallCase {
  SmallCase() {
    settings.model = {.vocab_size = kVocabulary,
                      .context_length = 32,
                      .layers = 2,
                      .width = 64,
                      .heads = 2,
                      .ffn_width = 96};
    settings.training.batch_tokens = 4 * 32;
    settings.training.micro_batch_size = 2;
    settings.training.max_tokens = 1000 * 4 * 32;
    settings.data.cache = (directory / "cache").string();
    settings.runtime.threads = 2;
    data::write_token_cache(settings.data.cache, data::random_ids(12 * 32 + 1, kVocabulary, 1),
                            data::random_ids(100, kVocabulary, 2), kVocabulary);
    options.warmup = 2;
    options.steps = 3;
    options.peak_size = 64;
    options.output = directory / "record.json";
  }

  Json measure() const {
    Log log = Log::silent();
    return measure_worker(
               settings, options, [] { return 0; }, log)
        .value();
  }

  TemporaryDirectory directory;
  config::Settings settings;
  WorkerOptions options;
};

TEST(Worker, MeasuresWindowsOfFullUpdates) {
  const SmallCase small;
  const Json record = small.measure();
  EXPECT_EQ(read_json(small.options.output), record);
  ASSERT_EQ(record["windows"].size(), 3U);
  std::vector<double> rates;
  for (const Json& window : record["windows"]) {
    EXPECT_EQ(window["tokens"], 3 * 4 * 32);
    const double rate = window["tokens"].get<double>() / window["seconds"].get<double>();
    EXPECT_DOUBLE_EQ(window["tokens_per_second"].get<double>(), rate);
    rates.push_back(rate);
  }
  std::ranges::sort(rates);
  EXPECT_DOUBLE_EQ(record["tokens_per_second"].get<double>(), rates[1]);
  EXPECT_EQ(record["warmup"], 2);
  EXPECT_EQ(record["steps"], 3);
  EXPECT_EQ(record["data_mode"], "real");
  EXPECT_GT(record["first_update_seconds"].get<double>(), 0);
  EXPECT_GE(record["warmup_seconds"].get<double>(), record["first_update_seconds"].get<double>());
  EXPECT_GT(record["startup_seconds"].get<double>(), 0);
  // After little training on random tokens, about the logarithm of the vocabulary.
  EXPECT_NEAR(record["loss"].get<double>(), std::log(kVocabulary), 1);
  EXPECT_GT(record["grad_norm"].get<double>(), 0);
  EXPECT_GT(record["reserved_memory_bytes"].get<int64_t>(), 0);
  EXPECT_GT(record["peak_memory_bytes"].get<int64_t>(),
            record["reserved_memory_bytes"].get<int64_t>());
  EXPECT_GT(record["device_memory_bytes"].get<int64_t>(),
            record["peak_memory_bytes"].get<int64_t>());
  // 6 per parameter: the embedding; for each of 2 blocks 4 C C + 3 C F + 2 gains; the last gain.
  const double parameters = 300 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 96 + 2 * 64) + 64;
  const double per_token = 6 * parameters + 6 * 2 * 64 * 32;
  EXPECT_DOUBLE_EQ(record["model_operations_per_token"].get<double>(), per_token);
  EXPECT_DOUBLE_EQ(record["share_of_peak"].get<double>(),
                   per_token * rates[1] / record["peak_operations_per_second"].get<double>());
  const Json& requests = record["requests_per_update"];
  EXPECT_EQ(requests["host_reads"], 1);
  EXPECT_EQ(requests["bytes_to_host"], 32);
  EXPECT_EQ(requests["allocations"], 0);
  EXPECT_GT(requests["launches"], 10);
  EXPECT_GT(requests["products"], 10);
  EXPECT_GT(requests["kernel_bytes"], record["settings"]["training.batch_tokens"].get<double>());
  EXPECT_THAT(worker_text(record), HasSubstr("times that the host waits for results"));
  EXPECT_EQ(record["counters"], Json::parse(R"({"updates": 9, "evaluations": 0, "checkpoints": 0,
                                                "profiled_updates": 0})"));
  EXPECT_THAT(record["kernels"]["matrix_products"].get<std::string>(), HasSubstr("oneDNN"));
  EXPECT_EQ(record["settings"]["model.width"], 64);
  EXPECT_EQ(record["environment"]["threads"], 2);
  EXPECT_TRUE(record["environment"]["machine"].contains("processor"));
  EXPECT_FALSE(record.contains("profile"));
  EXPECT_FALSE(std::filesystem::exists(trace_path(small.options.output)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(small.directory.path()), {}), 2);
}

struct Span {
  std::string name;
  int64_t begin = 0, end = 0;  // nanoseconds
  bool share = false;
};

// The spans of each track; every pair on one track must nest or be disjoint.
std::map<int, std::vector<Span>> tracks_of(const Path& path) {
  std::map<int, std::vector<Span>> tracks;
  const Json trace = read_json(path);
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const auto nanoseconds = [&](const char* key) {
      return std::llround(event[key].get<double>() * 1000);
    };
    tracks[event["tid"].get<int>()].push_back(
        {event["cat"].get<std::string>() + " " + event["name"].get<std::string>(),
         nanoseconds("ts"), nanoseconds("ts") + nanoseconds("dur"), event["cat"] == "share"});
  }
  for (auto& [track, spans] : tracks) {
    std::vector<Span> open;
    for (const Span& span : spans) {
      while (!open.empty() && open.back().end <= span.begin) open.pop_back();
      if (!open.empty()) {
        EXPECT_GE(span.begin, open.back().begin) << track << " " << span.name;
        EXPECT_LE(span.end, open.back().end) << track << " " << span.name;
      }
      open.push_back(span);
    }
  }
  return tracks;
}

// The self time in seconds of each operation, only from the spans of a trace; "" has the time
// outside operations.
std::map<std::string, double> self_seconds(const std::vector<Span>& spans) {
  std::map<std::string, double> self;
  std::vector<Span> open;
  for (const Span& span : spans) {
    if (span.share) continue;
    while (!open.empty() && open.back().end <= span.begin) open.pop_back();
    const double seconds = static_cast<double>(span.end - span.begin) * 1e-9;
    if (!open.empty()) self[open.back().name] -= seconds;
    self[span.name] += seconds;
    open.push_back(span);
  }
  return self;
}

void check_profile(SmallCase& small) {
  small.options.warmup = 1;
  small.options.steps = 1;
  small.options.windows = 1;
  small.options.profile = true;
  // On a busy machine another process may take time from between the operations: the best of a few.
  Json record;
  for (int i = 0; i < 5 && (i == 0 || record["profile"]["covered_share"] < 0.95); ++i) {
    record = small.measure();
  }
  const Json& profile = record["profile"];
  EXPECT_EQ(record["counters"]["profiled_updates"], 0);
  EXPECT_EQ(profile["trace"], "record.trace.json");
  const auto tracks = tracks_of(small.directory / "record.trace.json");
#if !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(tracks.size(), 2U);
#endif
  auto self = self_seconds(tracks.at(1));
  const double between = self.at("update update");
  self.erase("update update");
  double covered = 0;
  for (const auto& [name, seconds] : self) covered += seconds;
  const double wall = profile["wall_seconds"].get<double>();
  EXPECT_NEAR(covered + between, wall, 1e-9 * wall);
  EXPECT_NEAR(profile["covered_share"].get<double>(), covered / wall, 1e-9);
  EXPECT_GE(profile["covered_share"].get<double>(), 0.95);
  EXPECT_GT(profile["single_thread_share"].get<double>(), 0);
  EXPECT_LT(profile["single_thread_share"].get<double>(), 1);

  double operations = 0;
  double last = std::numeric_limits<double>::infinity();
  EXPECT_EQ(profile["operations"].size(), self.size());
  for (const Json& operation : profile["operations"]) {
    const double seconds = operation["self_seconds"].get<double>();
    EXPECT_NEAR(seconds, self.at(operation["name"]), 1e-9 * wall) << operation;
    EXPECT_LE(seconds, last);
    last = seconds;
    EXPECT_EQ(operation["operations_per_second"].is_null(), operation["share_of_peak"].is_null());
    if (operation["operations_per_second"].is_null()) continue;
    operations += operation["operations_per_second"].get<double>() * seconds;
  }
  // The operations of the model except for the gains, which no product reads; three updates.
  const double tokens = 3 * 4 * 32;
  const double gains = (2 * 2 + 1) * 64;
  const double needed = tokens * (record["model_operations_per_token"].get<double>() - 6 * gains);
  EXPECT_NEAR(operations / needed, 1, 1e-9);
  for (const char* name : {"data load_batch", "update copy_batch", "update norm", "update clip",
                           "update adamw", "update read_results"}) {
    EXPECT_TRUE(self.contains(name)) << name;
  }
  EXPECT_THAT(worker_text(record), HasSubstr("adjoint"));
}

// Wide enough that operations take longer than reading the clock.
TEST(Worker, ProfilesThePlan) {
  SmallCase small;
  check_profile(small);
}

TEST(Worker, ProfilesOperationByOperation) {
  SmallCase small;
  small.settings.runtime.compile = false;
  check_profile(small);
}

// Weights and moments after three updates, the second and third perhaps under a profile.
template <class T>
std::vector<std::vector<T>> numbers_after(const config::Settings& settings,
                                          backend::Profile* profile) {
  backend::Context context(2);
  train::TrainedModel<T> trained(context, settings, 1);
  train::UpdateRunner<T> runner(context, settings, trained);
  model::set_initial_weights<T>(context, settings.model, 1, trained.weights);
  UpdateSource source(settings, DataMode::kReal);
  train::UpdateBatch batch;
  for (int64_t step = 1; step <= 3; ++step) {
    context.set_profile(step > 1 ? profile : nullptr);
    source.next(batch);
    runner.run(batch, {step, step * 128, 128'000, 1.0});
  }
  EXPECT_EQ(trained.counters.updates, 3);
  EXPECT_EQ(trained.counters.profiled_updates, profile == nullptr ? 0 : 2);
  return {backend::to_host<T>(context, trained.weights.all()),
          backend::to_host<T>(context, trained.optimizer.first_moments().all()),
          backend::to_host<T>(context, trained.optimizer.second_moments().all())};
}

TEST(Worker, ProfilesWithoutChangingABit) {
  SmallCase small;
  for (const bool compile : {true, false}) {
    small.settings.runtime.compile = compile;
    backend::Profile profile(2);
    EXPECT_EQ(numbers_after<float>(small.settings, nullptr),
              numbers_after<float>(small.settings, &profile));
    EXPECT_GT(profile.regions().size(), 20U);
  }
}

TEST(Worker, RunsSeveralWorkersInFloat64) {
  SmallCase small;
  small.settings.decentralized.num_models = 2;
  small.settings.runtime.dtype = config::Precision::kFloat64;
  small.options.data_mode = DataMode::kSynthetic;
  small.options.profile = true;
  small.settings.data.cache = "nowhere";
  const Json record = small.measure();
  EXPECT_EQ(record["data_mode"], "synthetic");
  EXPECT_THAT(record["kernels"]["matrix_products"].get<std::string>(), HasSubstr("float64"));
  EXPECT_THAT(record["profile"].dump(), HasSubstr("update adamw_and_mixing"));
}

// A cache of 12 sequences is read once for every three updates; two more are not enough for a
// fourth.
TEST(Worker, StartsAgainAtTheEndOfTheData) {
  SmallCase small;
  small.settings.data.cache = (small.directory / "longer").string();
  data::write_token_cache(small.settings.data.cache, data::random_ids(14 * 32 + 1, kVocabulary, 1),
                          data::random_ids(100, kVocabulary, 2), kVocabulary);
  UpdateSource source(small.settings, DataMode::kReal);
  train::UpdateBatch first;
  train::UpdateBatch batch;
  source.next(first);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(i > 0 && batch.inputs == first.inputs, false);
    source.next(batch);
  }
  EXPECT_EQ(batch.inputs, first.inputs);
  EXPECT_EQ(batch.targets, first.targets);
}

TEST(Worker, RefusesSettingsThatItCannotMeasure) {
  SmallCase small;
  small.options.steps = 0;
  expect_error(ErrorKind::kUsage, {"--steps 0"}, [&] { small.measure(); });
  small.options.steps = 1;
  small.settings.training.batch_tokens = 14 * 32;
  expect_error(ErrorKind::kData, {"14 sequences", "12"}, [&] { small.measure(); });
  small.settings.training.batch_tokens = 12 * 32;
  small.settings.data.cache = (small.directory / "short").string();
  data::write_token_cache(small.settings.data.cache, data::random_ids(12 * 32, kVocabulary, 1),
                          data::random_ids(100, kVocabulary, 2), kVocabulary);  // no last target
  expect_error(ErrorKind::kData, {"12 sequences", "has 11"}, [&] { small.measure(); });
  EXPECT_FALSE(std::filesystem::exists(small.options.output));
}

// Before the measurement: the stop function is not called for any update.
TEST(Worker, RefusesAnUnwritableOutputAtOnce) {
  SmallCase small;
  int updates = 0;
  const auto measure = [&] {
    Log log = Log::silent();
    measure_worker(
        small.settings, small.options, [&updates] { return 0 * ++updates; }, log);
  };
  const Path record = small.options.output;
  make_directories(record);
  expect_error(ErrorKind::kIo, {record.string()}, measure);
  small.options.output = small.directory / "x.json";
  small.options.profile = true;
  make_directories(trace_path(small.options.output));
  expect_error(ErrorKind::kIo, {"x.trace.json"}, measure);
  EXPECT_EQ(updates, 0);
  EXPECT_FALSE(std::filesystem::exists(small.options.output));
}

// Nothing is written next to a device.
TEST(Worker, WritesOnlyTheRecordIfTheOutputIsNotARegularFile) {
  SmallCase small;
  small.options.output = "/dev/null";
  small.options.telemetry = true;
  EXPECT_EQ(small.measure()["windows"].size(), static_cast<size_t>(small.options.windows));
  EXPECT_FALSE(std::filesystem::exists("/dev/null.telemetry.csv"));
  small.options.profile = true;
  expect_error(ErrorKind::kUsage, {"--profile", "/dev/null"}, [&] { small.measure(); });
  EXPECT_FALSE(std::filesystem::exists("/dev/null.trace.json"));
}

// As a user would type it, over random ids.
std::string command_for(const Path& output) {
  return "benchmark-worker --data-mode synthetic --set model.vocab_size=50 "
         "--set model.context_length=8 --set model.layers=1 --set model.width=16 "
         "--set model.heads=2 --set model.ffn_width=24 --set training.batch_tokens=16 "
         "--set training.micro_batch_size=2 --set training.max_tokens=16000 "
         "--set training.epoch_tokens=16000 --set runtime.threads=1 --output " +
         output.string();
}

TEST(WorkerCommand, PrintsATableAndWritesTheRecord) {
  const TemporaryDirectory directory;
  const Path output = directory / "made" / "x.json";
  const ProgramResult result =
      run_saddle(command_for(output) + " --warmup 1 --steps 2 --windows 2 --profile");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("tokens/s"));
  EXPECT_THAT(result.output, HasSubstr("% of peak"));
  EXPECT_EQ(read_json(output)["counters"]["updates"], 4);
  EXPECT_TRUE(std::filesystem::exists(directory / "made" / "x.trace.json"));
  EXPECT_TRUE(read_file(directory / "made" / "x.telemetry.csv").starts_with(kTelemetryHeading));
}

TEST(WorkerCommand, KeepsTheExitCodeOfALossThatIsNotFinite) {
  const TemporaryDirectory directory;
  const Path output = directory / "x.json";
  const ProgramResult result = run_saddle(command_for(output) +
                                          " --warmup 0 --steps 20 --set optimizer.lr=1e30 "
                                          "--set optimizer.warmup_fraction=0");
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kNumeric)) << result.errors;
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST(WorkerCommand, WritesNoRecordIfItIsStopped) {
  const TemporaryDirectory directory;
  const Path output = directory / "x.json";
  StartedProgram program(command_for(output) + " --steps 100000000");
  const Stopwatch watch;
  while (program.printed().find("update") == std::string::npos && watch.seconds() < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  program.kill(SIGTERM);
  EXPECT_EQ(program.wait(), kExitStopped) << program.printed();
  EXPECT_TRUE(std::filesystem::exists(telemetry_path(output)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

}  // namespace
}  // namespace saddle::bench
