#include "curvature/data_case.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/narrow.h"
#include "base/random.h"

namespace saddle::curvature {
namespace {

data::LoaderOptions make_loader_options(const config::Settings& run, DataCaseKind kind,
                                        const train::EpochPlan& plan) {
  const auto seed = narrow<uint64_t>(run.runtime.seed);
  data::LoaderOptions options;
  options.context_length = run.model.context_length;
  options.total_blocks = plan.total_blocks();
  options.buffer_bytes = run.data.buffer_size_mib * (int64_t{1} << 20);
  options.seed = seed;
  options.prefetch = false;  // reading a range is far faster than measuring on it
  if (kind == DataCaseKind::kUnseen) {
    options.first_block = plan.total_blocks();
    options.total_blocks = plan.boundary(1);
    options.seed = RandomStream(seed, RandomPurpose::kUnseenOrder).bits(0);
  }
  return options;
}

int64_t tokens_of(const data::LoaderOptions& options) {
  return data::tokens_needed(options.first_block + options.total_blocks, options.context_length);
}

// A word of a command line, quoted if a shell would split it.
std::string shell_word(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain && !text.empty()) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string larger_cache(const config::Settings& run, int64_t tokens) {
  Path cache = Path(run.data.cache).lexically_normal();
  if (!cache.has_filename()) cache = cache.parent_path();  // of "cache/"
  return fmt::format("{}-{}", cache.string(), tokens);
}

// The command that makes a cache which begins like this one and has `tokens` training tokens. A
// cache never changes, so the new one gets its own directory.
std::string prepare_command(const config::Settings& run, const data::CacheManifest& manifest,
                            int64_t tokens) {
  std::string command =
      "saddle prepare --config " +
      shell_word((Path(run.runtime.output_dir) / "resolved.yaml").lexically_normal().string());
  const auto set = [&](std::string_view key, const auto& value) {
    command += " --set " + shell_word(fmt::format("{}={}", key, value));
  };
  set("data.cache", larger_cache(run, tokens));
  set("data.prepare_train_tokens", tokens);
  // Settings of the cache that the run's settings may not contain.
  if (narrow<uint64_t>(run.data.shuffle_seed) != manifest.shuffle_seed) {
    set("data.shuffle_seed", manifest.shuffle_seed);
  }
  if (run.data.shuffle_buffer != manifest.shuffle_buffer) {
    set("data.shuffle_buffer", manifest.shuffle_buffer);
  }
  if (run.data.source.empty() && !run.data.dataset) set("data.source", "FOLDER");
  if (!run.data.tokenizer) set("data.tokenizer", "FILE");
  return command;
}

void check_cache(const data::TokenCache& cache, const config::Settings& run, DataCaseKind kind,
                 const data::LoaderOptions& options) {
  const int64_t needed = tokens_of(options);
  if (needed <= cache.tokens(data::Split::kTrain)) return;
  fail(ErrorKind::kData,
       "{}: the cache is too small for the data case {}: the {} sequences of {} tokens after the "
       "{} of the training budget need {} training tokens, found {}; this command makes one that "
       "is large enough: {}",
       cache.directory().string(), data_case_name(kind), options.total_blocks,
       options.context_length, options.first_block, needed, cache.tokens(data::Split::kTrain),
       prepare_command(run, cache.manifest(), needed));
}

void check_workers(int64_t workers, int64_t batch_blocks, int64_t epoch_blocks) {
  if (workers < 1 || batch_blocks % workers != 0 || epoch_blocks % workers != 0) {
    fail(ErrorKind::kConfig,
         "batches of {} sequences in an epoch of {} cannot be divided among {} workers",
         batch_blocks, epoch_blocks, workers);
  }
}

// Moves the rows of one worker of [N][sequences][T] to `part`.
void take_worker(const std::vector<int32_t>& all, int64_t worker, int64_t size,
                 std::vector<int32_t>& part) {
  const auto begin = all.begin() + worker * size;
  part.assign(begin, begin + size);
}

}  // namespace

int64_t tokens_needed(const config::Settings& run, DataCaseKind kind) {
  return tokens_of(make_loader_options(run, kind, train::EpochPlan(run)));
}

void check_same_beginning(const data::TokenCache& cache, const data::TokenCache& larger,
                          int64_t tokens) {
  for (const data::TokenCache* each : {&cache, &larger}) {
    const int64_t found = each->tokens(data::Split::kTrain);
    if (found >= tokens) continue;
    fail(ErrorKind::kConfig, "{}: expected at least {} training tokens, found {}",
         each->directory().string(), tokens, found);
  }
  constexpr int64_t kPiece = int64_t{1} << 20;
  std::vector<uint16_t> expected, found;
  for (int64_t first = 0; first < tokens; first += kPiece) {
    const int64_t count = std::min(kPiece, tokens - first);
    expected.resize(static_cast<size_t>(count));
    found.resize(static_cast<size_t>(count));
    cache.read(data::Split::kTrain, first, count, expected.data());
    larger.read(data::Split::kTrain, first, count, found.data());
    const auto [a, b] = std::ranges::mismatch(expected, found);
    if (a == expected.end()) continue;
    fail(ErrorKind::kConfig,
         "{} does not begin like {}, the cache of the run: training token {} is {}, expected {}",
         larger.directory().string(), cache.directory().string(), first + (a - expected.begin()),
         *b, *a);
  }
}

DataCase::DataCase(const data::TokenCache& cache, const config::Settings& run, DataCaseKind kind,
                   int64_t workers)
    : cache_(cache),
      kind_(kind),
      workers_(workers),
      plan_(run),
      blocks_(plan_.boundary(1)),
      options_(make_loader_options(run, kind, plan_)),
      batch_blocks_(run.training.batch_tokens / run.model.context_length) {
  check_workers(workers, batch_blocks_, blocks_);
  check_cache(cache, run, kind, options_);
}

void DataCase::read_batch(int64_t batch, int64_t worker, Microbatch& microbatch) const {
  if (batch < 0 || batch >= batches() || worker < 0 || worker >= workers_) {
    fail(ErrorKind::kInternal, "there is no batch {} of worker {} in {} batches of {} workers",
         batch, worker, batches(), workers_);
  }
  const int64_t position = batch * batch_blocks_;
  const int64_t length = context_length();
  data::TrainingLoader loader(cache_, options_, position);
  train::UpdateBatch update;
  train::read_batch(loader, plan_.next_update_blocks(position), workers_, length, update);
  microbatch.sequences = update.sequences;
  take_worker(update.inputs, worker, update.sequences * length, microbatch.inputs);
  take_worker(update.targets, worker, update.sequences * length, microbatch.targets);
}

Json DataCase::describe() const {
  return {{"case", data_case_name(kind_)},
          {"cache_identity", cache_.identity()},
          {"context_length", context_length()},
          {"first_block", options_.first_block},
          {"ordered_blocks", options_.total_blocks},
          {"epoch_blocks", blocks_},
          {"batch_blocks", batch_blocks_},
          {"workers", workers_},
          {"range_blocks", data::blocks_per_range(options_.buffer_bytes, context_length())},
          {"order_seed", options_.seed}};
}

EpochMicrobatches::EpochMicrobatches(const DataCase& data, int64_t sequences)
    : data_(data), sequences_(sequences) {
  if (sequences < 1) {
    fail(ErrorKind::kConfig, "expected microbatches of at least 1 sequence, found {}", sequences);
  }
}

void EpochMicrobatches::read(int64_t i, Microbatch& microbatch) {
  if (i < 0 || i >= count()) {
    fail(ErrorKind::kInternal, "there is no microbatch {} of {}", i, count());
  }
  const int64_t first = i * sequences_;
  if (loader_ == nullptr || loader_->position() != first) {
    loader_.reset();  // frees its memory before the next one is allocated
    loader_ = std::make_unique<data::TrainingLoader>(data_.cache(), data_.loader_options(), first);
  }
  microbatch.sequences = std::min(sequences_, data_.blocks() - first);
  const auto size = static_cast<size_t>(microbatch.sequences * data_.context_length());
  microbatch.inputs.resize(size);
  microbatch.targets.resize(size);
  loader_->next(microbatch.sequences, microbatch.inputs.data(), microbatch.targets.data());
}

}  // namespace saddle::curvature
