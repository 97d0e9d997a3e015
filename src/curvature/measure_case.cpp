#include "curvature/measure_case.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "curvature/directions.h"
#include "curvature/gradients.h"
#include "curvature/stored_microbatches.h"
#include "model/parameters.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"

namespace saddle::curvature {
namespace {

// How many of `wanted` directions fit into memory together.
int64_t lanes_that_fit(int64_t wanted, int64_t lane_bytes, int64_t bytes) {
  if (wanted > 0 && lane_bytes > bytes) {
    fail(ErrorKind::kConfig,
         "one direction takes {:.3f} GiB, but {:.3f} GiB are allowed: raise --memory-gib to at "
         "least {:.3f}",
         static_cast<double>(lane_bytes) / kGibibyte, static_cast<double>(bytes) / kGibibyte,
         std::ceil(static_cast<double>(lane_bytes) / kGibibyte * 1000) / 1000);
  }
  return std::min(wanted, bytes / lane_bytes);
}

template <class T>
class CaseMeasurement {
 public:
  CaseMeasurement(backend::Context& context, const config::Settings& run, const DataCase& data,
                  const backend::Arena<T>& weights, const MeasureOptions& options,
                  const OwnDirections<T>& directions, const std::function<int()>& stop, Log& log)
      : context_(context),
        data_(data),
        options_(options),
        micro_batch_size_(run.training.micro_batch_size),
        hvp_batch_size_(options.hvp_batch_size == 0 ? micro_batch_size_ : options.hvp_batch_size),
        stop_(stop),
        log_(log),
        gradient_(context, run.model, options.form.autocast, micro_batch_size_, weights),
        mean_(context, weights.layout(), 1) {
    if (options.random_samples < 0 || hvp_batch_size_ < 1) {
      fail(ErrorKind::kConfig,
           "expected at least 0 random samples and curvature batches of at least 1 sequence, found "
           "{} and {}",
           options.random_samples, hvp_batch_size_);
    }
    list_directions(directions);
    const auto wanted = static_cast<int64_t>(tasks_.size());
    lanes_ = lanes_that_fit(wanted, direction_lane_bytes<T>(run.model), options.direction_bytes);
    if (wanted == 0) return;
    directions_ = backend::Arena<T>(context, weights.layout(), lanes_);
    forms_ = make_quadratic_forms<T>(context, run.model, options.form, hvp_batch_size_, weights);
  }

  std::optional<CaseResult> run() {
    if (!measure_epoch()) return std::nullopt;
    watch_.restart();
    for (size_t next = 0; next < tasks_.size();) {
      std::vector<Task*> group;
      if (!fill_group(next, group)) return std::nullopt;
      if (!group.empty() && !measure_group(group)) return std::nullopt;
      done_ = static_cast<int64_t>(next);
    }
    log_.progress(fmt::format("{}: {} directions done in {}", data_case_name(data_.kind()), done_,
                              human_duration(watch_.seconds())));
    return std::move(result_);
  }

 private:
  // A direction: how to make it, and where to store its numbers.
  struct Task {
    std::string name;
    std::function<bool(int64_t lane)> write;  // false: asked to stop
    DirectionResult* result;
  };

  void list_directions(const OwnDirections<T>& directions) {
    const int64_t population = data_.batches() * data_.workers();
    const auto batches = noise_batches(population, options_.noise_samples, options_.seed);
    if (options_.noise_samples && *options_.noise_samples > population) {
      log_.info("{} noise samples were requested; the epoch has {} batches, and each is used once",
                *options_.noise_samples, population);
    }
    // Results are allocated before anything points to them.
    result_.noise.resize(batches.size());
    result_.random.resize(static_cast<size_t>(options_.random_samples));
    result_.own.resize(directions.own.size());
    result_.consensus.resize(directions.consensus.size());
    for (size_t k = 0; k < batches.size(); ++k) {
      NoiseResult& sample = result_.noise[k];
      sample.batch = batches[k] / data_.workers();
      sample.worker = batches[k] % data_.workers();
      add_task(noise_name(sample), sample,
               [this, &sample](int64_t lane) { return write_noise(sample, lane); });
    }
    for (int64_t k = 0; k < options_.random_samples; ++k) {
      add_task(fmt::format("random direction {}", k), result_.random[static_cast<size_t>(k)],
               [this, k](int64_t lane) {
                 write_random_direction<T>(context_, options_.seed, k, directions_, lane);
                 return true;
               });
    }
    add_named(directions.own, "direction", result_.own);
    add_named(directions.consensus, "consensus error", result_.consensus);
  }

  void add_task(std::string name, DirectionResult& result, std::function<bool(int64_t)> write) {
    tasks_.push_back({std::move(name), std::move(write), &result});
  }

  void add_named(const std::vector<NamedDirection<T>>& directions, const char* what,
                 std::vector<NamedResult>& results) {
    for (size_t k = 0; k < directions.size(); ++k) {
      const NamedDirection<T>& direction = directions[k];
      results[k].name = direction.name;
      add_task(fmt::format("{} {}", what, direction.name), results[k],
               [this, &direction](int64_t lane) {
                 direction.write(directions_, lane);
                 return stop_() == 0;
               });
    }
  }

  std::string noise_name(const NoiseResult& sample) const {
    const std::string worker =
        data_.workers() > 1 ? fmt::format(" of worker {}", sample.worker) : "";
    return fmt::format("batch {}{}", sample.batch, worker);
  }

  bool measure_epoch() {
    EpochMicrobatches microbatches(data_, micro_batch_size_);
    const auto epoch = gradient_.compute(microbatches, [&](int64_t done, int64_t total) {
      log_.progress(fmt::format("{}: gradient of the epoch, {} of {} microbatches",
                                data_case_name(data_.kind()), done, total));
      return stop_() == 0;
    });
    if (!epoch) return false;
    ops::copy<T>(context_, gradient_.gradient().all(), mean_.all());
    result_.blocks = data_.blocks();
    result_.targets = epoch->targets;
    result_.loss = finite(epoch->loss, "the loss of the epoch");
    result_.gradient_norm = finite(epoch->norm, "the norm of the epoch's gradient");
    result_.parameters = mean_.layout().size();
    return true;
  }

  bool write_noise(NoiseResult& sample, int64_t lane) {
    Microbatch batch;
    data_.read_batch(sample.batch, sample.worker, batch);
    StoredMicrobatches microbatches(std::move(batch.inputs), std::move(batch.targets),
                                    data_.context_length(), micro_batch_size_);
    const auto stopped = [this](int64_t, int64_t) { return stop_() == 0; };
    const auto gradient = gradient_.compute(microbatches, stopped);
    if (!gradient) return false;
    const std::string name = noise_name(sample);
    sample.targets = gradient->targets;
    sample.loss = finite(gradient->loss, "the loss of " + name);
    sample.gradient_norm = finite(gradient->norm, "the gradient norm of " + name);
    ops::subtract<T>(context_, gradient_.gradient().all(), mean_.all(),
                     directions_.all().worker_range(lane, 1));
    return true;
  }

  // Makes directions from `next` on until the lanes are full; zero directions need no lane.
  bool fill_group(size_t& next, std::vector<Task*>& group) {
    while (static_cast<int64_t>(group.size()) < lanes_ && next < tasks_.size()) {
      Task& task = tasks_[next++];
      const auto lane = static_cast<int64_t>(group.size());
      const backend::View<T> direction = directions_.all().worker_range(lane, 1);
      ops::fill<T>(context_, 0.0, direction);
      if (!task.write(lane)) return false;
      task.result->squared_norm = finite(ops::read_sum_of_squares<T>(context_, direction).front(),
                                         "the squared norm of the direction of " + task.name);
      if (task.result->squared_norm > 0) group.push_back(&task);
      log_.progress(fmt::format("{}: {} of {} directions computed", data_case_name(data_.kind()),
                                next, tasks_.size()));
    }
    return true;
  }

  bool measure_group(const std::vector<Task*>& group) {
    const auto count = static_cast<int64_t>(group.size());
    EpochMicrobatches microbatches(data_, hvp_batch_size_);
    const auto forms =
        forms_->measure(microbatches, directions_, count, [&](int64_t done, int64_t total) {
          report(count, static_cast<double>(done) / static_cast<double>(total));
          return stop_() == 0;
        });
    if (!forms) return false;
    for (size_t k = 0; k < group.size(); ++k) {
      group[k]->result->quadratic_form =
          finite(forms->at(k), "the quadratic form of the direction of " + group[k]->name);
    }
    return true;
  }

  // `part` of a pass over `count` directions is done.
  void report(int64_t count, double part) {
    const auto all = static_cast<double>(tasks_.size());
    const double done = static_cast<double>(done_) + part * static_cast<double>(count);
    const double left = watch_.seconds() / done * (all - done);
    log_.progress(fmt::format("{}: {} of {} directions done, pass {} of {} at {:.0f}%, {} left",
                              data_case_name(data_.kind()), done_, tasks_.size(),
                              done_ / lanes_ + 1, (tasks_.size() - 1) / lanes_ + 1, 100 * part,
                              human_duration(left)));
  }

  backend::Context& context_;
  const DataCase& data_;
  MeasureOptions options_;
  int64_t micro_batch_size_;
  int64_t hvp_batch_size_;
  const std::function<int()>& stop_;
  Log& log_;
  CaseResult result_;
  GradientCalculator<T> gradient_;
  backend::Arena<T> mean_;  // the gradient of the epoch
  std::vector<Task> tasks_;
  int64_t lanes_ = 0;
  backend::Arena<T> directions_;
  std::unique_ptr<QuadraticForms<T>> forms_;
  Stopwatch watch_;
  int64_t done_ = 0;  // directions
};

}  // namespace

double finite(double value, const std::string& what) {
  if (std::isnan(value)) fail(ErrorKind::kNumeric, "{} is nan", what);  // never "-nan"
  if (!std::isfinite(value)) fail(ErrorKind::kNumeric, "{} is {}", what, value);
  return value;
}

template <class T>
int64_t direction_lane_bytes(const config::ModelSettings& model) {
  return model::Parameters(model).layout.padded_size() * static_cast<int64_t>(sizeof(T));
}

template <class T>
std::optional<CaseResult> measure_case(backend::Context& context, const config::Settings& run,
                                       const DataCase& data, const backend::Arena<T>& weights,
                                       const MeasureOptions& options,
                                       const OwnDirections<T>& directions,
                                       const std::function<int()>& stop, Log& log) {
  return CaseMeasurement<T>(context, run, data, weights, options, directions, stop, log).run();
}

#define SADDLE_INSTANTIATE(T)                                                                \
  template int64_t direction_lane_bytes<T>(const config::ModelSettings&);                    \
  template std::optional<CaseResult> measure_case<T>(                                        \
      backend::Context&, const config::Settings&, const DataCase&, const backend::Arena<T>&, \
      const MeasureOptions&, const OwnDirections<T>&, const std::function<int()>&, Log&);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::curvature
