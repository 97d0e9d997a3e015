#include "precision/compare_precision_case.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "curvature/directions.h"
#include "curvature/gradients.h"
#include "curvature/measure_case.h"
#include "curvature/quadratic_forms.h"
#include "curvature/stored_microbatches.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"

namespace saddle::precision {
namespace {

using Arena = backend::Arena<float>;
using Vector = backend::View<const float>;

// Noise samples in memory together.
int64_t pairs_that_fit(int64_t lane_bytes, int64_t bytes) {
  if (2 * lane_bytes <= bytes) return bytes / (2 * lane_bytes);
  fail(ErrorKind::kConfig,
       "the directions of one noise sample take {:.3f} GiB and {:.3f} GiB are allowed: raise "
       "--memory-gib",
       2 * static_cast<double>(lane_bytes) / kGibibyte, static_cast<double>(bytes) / kGibibyte);
}

// One of the two precisions.
struct Side {
  Side(backend::Context& context, const config::ModelSettings& model, bool autocast, int64_t micro,
       int64_t hvp, const Arena& weights)
      : name(autocast ? "under autocast" : "in float32"),
        gradient(context, model, autocast, micro, weights),
        mean(context, weights.layout(), 1),
        forms(curvature::make_quadratic_forms<float>(context, model, {.autocast = autocast}, hvp,
                                                     weights)) {}

  std::string name;
  curvature::GradientCalculator<float> gradient;
  Arena mean;  // the gradient of the epoch
  std::unique_ptr<curvature::QuadraticForms<float>> forms;
  curvature::CaseResult result;
};

class PrecisionMeasurement {
 public:
  PrecisionMeasurement(backend::Context& context, const config::Settings& run,
                       const curvature::DataCase& data, const Arena& weights,
                       const PrecisionCaseOptions& options, const std::function<int()>& stop,
                       Log& log)
      : context_(context),
        data_(data),
        options_(checked_options(options)),
        micro_batch_size_(run.training.micro_batch_size),
        hvp_batch_size_(options.hvp_batch_size == 0 ? micro_batch_size_ : options.hvp_batch_size),
        stop_(stop),
        log_(log),
        batches_(curvature::noise_batches(data.batches() * data.workers(), options.noise_samples,
                                          options.seed)),
        pairs_(std::min(pairs_that_fit(curvature::direction_lane_bytes<float>(run.model),
                                       options.direction_bytes),
                        std::max<int64_t>({1, samples(), (options.random_samples + 1) / 2}))),
        float32_(context, run.model, false, micro_batch_size_, hvp_batch_size_, weights),
        autocast_(context, run.model, options.autocast, micro_batch_size_, hvp_batch_size_,
                  weights),
        directions_(context, weights.layout(), 2 * pairs_),
        difference_(context, weights.layout(), 1) {}

  std::optional<PrecisionCase> run() {
    if (!measure_epoch(float32_) || !measure_epoch(autocast_)) return std::nullopt;
    result_.epoch_gradient = difference(float32_.mean.all(), autocast_.mean.all());
    watch_.restart();
    for (int64_t first = 0; first < samples(); first += pairs_) {
      if (!measure_noise(first, std::min(pairs_, samples() - first))) return std::nullopt;
    }
    for (int64_t first = 0; first < options_.random_samples; first += 2 * pairs_) {
      if (!measure_random(first, std::min(2 * pairs_, options_.random_samples - first))) {
        return std::nullopt;
      }
    }
    result_.float32 = std::move(float32_.result);
    result_.autocast = std::move(autocast_.result);
    return std::move(result_);
  }

 private:
  static const PrecisionCaseOptions& checked_options(const PrecisionCaseOptions& options) {
    if (options.random_samples < 0 || options.hvp_batch_size < 0) {
      fail(ErrorKind::kConfig,
           "expected at least 0 random samples and curvature batches of at least 1 sequence, found "
           "{} and {}",
           options.random_samples, options.hvp_batch_size);
    }
    return options;
  }

  int64_t samples() const { return static_cast<int64_t>(batches_.size()); }
  backend::View<float> lane(int64_t i) const { return directions_.all().worker_range(i, 1); }

  VectorDifference difference(Vector a, Vector b) {
    ops::subtract<float>(context_, b, a, difference_.all());
    const double distance = ops::read_sum_of_squares<float>(context_, difference_.all()).front();
    // All three are dot products, so that equal vectors have the cosine 1.
    const double aa = ops::read_dot<float>(context_, a, a).front();
    const double bb = ops::read_dot<float>(context_, b, b).front();
    const double ab = ops::read_dot<float>(context_, a, b).front();
    return {.error = std::sqrt(distance / aa), .cosine = ab / std::sqrt(aa * bb)};
  }

  bool measure_epoch(Side& side) {
    curvature::EpochMicrobatches microbatches(data_, micro_batch_size_);
    const auto epoch = side.gradient.compute(microbatches, [&](int64_t done, int64_t total) {
      log_.progress(fmt::format("{}: gradient of the epoch {}, {} of {} microbatches",
                                curvature::data_case_name(data_.kind()), side.name, done, total));
      return stop_() == 0;
    });
    if (!epoch) return false;
    ops::copy<float>(context_, side.gradient.gradient().all(), side.mean.all());
    side.result.blocks = data_.blocks();
    side.result.targets = epoch->targets;
    side.result.loss = curvature::finite(epoch->loss, "the loss of the epoch " + side.name);
    side.result.gradient_norm =
        curvature::finite(epoch->norm, "the norm of the epoch's gradient " + side.name);
    side.result.parameters = side.mean.layout().size();
    return true;
  }

  // Writes the noise of optimizer batch `batch` of the population to a lane.
  bool write_noise(Side& side, int64_t batch, int64_t at) {
    curvature::NoiseResult sample;
    sample.batch = batch / data_.workers();
    sample.worker = batch % data_.workers();
    curvature::Microbatch sequences;
    data_.read_batch(sample.batch, sample.worker, sequences);
    curvature::StoredMicrobatches microbatches(std::move(sequences.inputs),
                                               std::move(sequences.targets), data_.context_length(),
                                               micro_batch_size_);
    const auto gradient =
        side.gradient.compute(microbatches, [this](int64_t, int64_t) { return stop_() == 0; });
    if (!gradient) return false;
    const std::string name =
        fmt::format("batch {} of worker {} {}", sample.batch, sample.worker, side.name);
    sample.targets = gradient->targets;
    sample.loss = curvature::finite(gradient->loss, "the loss of " + name);
    sample.gradient_norm = curvature::finite(gradient->norm, "the gradient norm of " + name);
    ops::subtract<float>(context_, side.gradient.gradient().all(), side.mean.all(), lane(at));
    sample.squared_norm = ops::read_sum_of_squares<float>(context_, lane(at)).front();
    side.result.noise.push_back(sample);
    return true;
  }

  // Lanes [0, count) hold the vectors in float32, [count, 2 count) those under autocast.
  bool measure_noise(int64_t first, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      const int64_t batch = batches_[static_cast<size_t>(first + k)];
      if (!write_noise(float32_, batch, k) || !write_noise(autocast_, batch, count + k)) {
        return false;
      }
      result_.gradients.push_back(
          difference(float32_.gradient.gradient().all(), autocast_.gradient.gradient().all()));
      result_.noise.push_back(difference(lane(k), lane(count + k)));
      log_.progress(fmt::format("{}: gradients of {} of {} noise samples computed",
                                curvature::data_case_name(data_.kind()), first + k + 1, samples()));
    }
    const auto exact = forms(float32_, count, "noise");
    if (!exact) return false;
    const auto rounded = forms(autocast_, 2 * count, "noise");
    if (!rounded) return false;
    for (int64_t k = 0; k < count; ++k) {
      const auto at = static_cast<size_t>(first + k);
      float32_.result.noise[at].quadratic_form = exact->at(static_cast<size_t>(k));
      autocast_.result.noise[at].quadratic_form = rounded->at(static_cast<size_t>(count + k));
      result_.counterfactual.push_back(rounded->at(static_cast<size_t>(k)));
    }
    return true;
  }

  bool measure_random(int64_t first, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      ops::fill<float>(context_, 0.0, lane(k));
      curvature::write_random_direction<float>(context_, options_.seed, first + k, directions_, k);
    }
    for (Side* side : {&float32_, &autocast_}) {
      const auto values = forms(*side, count, "random");
      if (!values) return false;
      for (const double value : *values) {
        side->result.random.push_back(
            {.quadratic_form = value,
             .squared_norm = static_cast<double>(side->result.parameters)});
      }
    }
    return true;
  }

  // The forms of the first `count` lanes; nothing if it was stopped.
  std::optional<std::vector<double>> forms(Side& side, int64_t count, const char* what) {
    curvature::EpochMicrobatches microbatches(data_, hvp_batch_size_);
    auto values =
        side.forms->measure(microbatches, directions_, count, [&](int64_t done, int64_t total) {
          report(side, what, static_cast<double>(count),
                 static_cast<double>(done) / static_cast<double>(total));
          return stop_() == 0;
        });
    if (!values) return std::nullopt;
    for (const double value : *values) {
      curvature::finite(value,
                        fmt::format("the quadratic form of a {} direction {}", what, side.name));
    }
    done_ += static_cast<double>(count);
    return values;
  }

  // `part` of a pass over `count` directions is done. In total there are three forms for each noise
  // sample and two for each random one.
  void report(const Side& side, const char* what, double count, double part) {
    const auto all = static_cast<double>(3 * samples() + 2 * options_.random_samples);
    const double done = done_ + part * count;
    log_.progress(fmt::format("{}: {} directions {}, {:.0f} of {:.0f} forms done, {} left",
                              curvature::data_case_name(data_.kind()), what, side.name,
                              std::floor(done), all,
                              human_duration(watch_.seconds() / done * (all - done))));
  }

  backend::Context& context_;
  const curvature::DataCase& data_;
  PrecisionCaseOptions options_;
  int64_t micro_batch_size_;
  int64_t hvp_batch_size_;
  const std::function<int()>& stop_;
  Log& log_;
  std::vector<int64_t> batches_;  // indices in the population: optimizer batch * workers + worker
  int64_t pairs_;                 // noise samples of a group
  Side float32_, autocast_;
  Arena directions_;
  Arena difference_;
  PrecisionCase result_;
  Stopwatch watch_;
  double done_ = 0;  // forms
};

}  // namespace

std::optional<PrecisionCase> measure_precision(backend::Context& context,
                                               const config::Settings& run,
                                               const curvature::DataCase& data,
                                               const Arena& weights,
                                               const PrecisionCaseOptions& options,
                                               const std::function<int()>& stop, Log& log) {
  return PrecisionMeasurement(context, run, data, weights, options, stop, log).run();
}

}  // namespace saddle::precision
