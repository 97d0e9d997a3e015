#include <algorithm>
#include <cmath>

#include "base/candidate.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "bench/packed_update.h"
#include "bench/trace.h"
#include "train/session.h"

namespace saddle::bench {
namespace {

constexpr int64_t kPartUpdates = 5;  // the least number of updates whose parts are timed

// The update whose losses are compared between the modes: the first losses that follow an update.
// Rounding grows with every further update.
constexpr int64_t kComparedUpdate = 2;

template <class T>
PackedMeasurement measure(const config::Settings& settings, const PackedCandidate& candidate) {
  backend::Context context(train::computing_threads(settings));
  PackedUpdate<T> update(context, settings, candidate.mode);
  PackedMeasurement result;
  int64_t step = 0;
  const auto keep_losses = [&] {
    if (step == kComparedUpdate) result.losses = update.losses();
  };
  while (step < candidate.warmup) {
    update.run(++step);
    keep_losses();
  }
  for (int64_t i = 0; i < candidate.steps; ++i) {
    const Stopwatch watch;
    update.run(++step);
    result.seconds.push_back(watch.seconds());
    keep_losses();
  }

  Trace trace(fmt::format("benchmark-packed {}", mode_name(candidate.mode)));
  std::array<std::vector<double>, 4> parts;
  const auto timed = [&](size_t part, auto&& work) {
    const double begin = trace.now();
    work();
    const double end = trace.now();
    parts[part].push_back(end - begin);
    trace.add(kPackedParts[part], begin, end);
  };
  for (int64_t i = 0; i < std::max(kPartUpdates, candidate.steps); ++i) {
    ++step;
    timed(0, [&] { update.compute(); });
    timed(1, [&] { update.clip(); });
    keep_losses();
    if (update.mixes_first()) timed(2, [&] { update.mix(step); });
    timed(3, [&] { update.adamw(step); });
    if (!update.mixes_first()) timed(2, [&] { update.mix(step); });
  }
  for (size_t part = 0; part < parts.size(); ++part)
    result.part_seconds[part] = median(parts[part]);
  if (!candidate.trace.empty()) trace.write(candidate.trace);
  const std::vector<double> last = update.losses();
  for (size_t n = 0; n < last.size(); ++n) {
    if (std::isfinite(last[n])) continue;
    fail(ErrorKind::kNumeric, "the loss of worker {} is {} after {} updates", n, last[n], step);
  }
  result.peak_memory_bytes = peak_memory_bytes();
  return result;
}

}  // namespace

std::string_view mode_name(PackedMode mode) {
  return mode == PackedMode::kPacked ? "packed" : "sequential";
}

void check_packed(const config::Settings& settings, int64_t warmup, int64_t steps) {
  if (steps < 1 || warmup < 0) {
    fail(ErrorKind::kUsage,
         "expected at least 1 timed update and at least 0 warm-up updates, found --steps {} and "
         "--warmup {}",
         steps, warmup);
  }
  if (settings.decentralized.adaptive_consensus.start_frac) {
    fail(ErrorKind::kConfig,
         "decentralized.adaptive_consensus.start_frac is {}: the benchmark has a constant learning "
         "rate, under which consensus does not adapt; turn it off with --set "
         "decentralized.adaptive_consensus=null",
         *settings.decentralized.adaptive_consensus.start_frac);
  }
}

PackedMeasurement measure_packed(const config::Settings& settings,
                                 const PackedCandidate& candidate) {
  check_packed(settings, candidate.warmup, candidate.steps);
  return settings.runtime.dtype == config::Precision::kFloat64
             ? measure<double>(settings, candidate)
             : measure<float>(settings, candidate);
}

Json to_json(const PackedMeasurement& measurement) {
  Json parts = Json::object();
  for (size_t i = 0; i < kPackedParts.size(); ++i) {
    parts[std::string(kPackedParts[i])] = measurement.part_seconds[i];
  }
  return {{"seconds", measurement.seconds},
          {"part_seconds", parts},
          {"peak_memory_bytes", measurement.peak_memory_bytes},
          {"losses", measurement.losses}};
}

}  // namespace saddle::bench
