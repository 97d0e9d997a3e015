// A whole case against sums of the gradients of single sequences, computed operation by operation.
#include "curvature/measure_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "curvature/hessian_vector_product.h"
#include "curvature/small_case.h"
#include "support/dot.h"
#include "support/expect_error.h"
#include "support/loss_weights.h"

namespace saddle::curvature {
namespace {

using Vector = std::vector<double>;

// Losses and gradients of every sequence of an epoch, each of the mean over that sequence.
struct SequenceGradients {
  Vector losses;
  std::vector<Vector> gradients;

  explicit SequenceGradients(SmallCase<double>& small, const DataCase& data) {
    backend::Arena<double> gradient(small.context, small.weights.layout(), 1);
    const auto execution = model::make_execution<double>(
        small.context, small.settings.model, {.compile = false}, 1, small.weights, &gradient);
    EpochMicrobatches sequences(data, 1);
    Microbatch sequence;
    for (int64_t i = 0; i < sequences.count(); ++i) {
      sequences.read(i, sequence);
      const Vector zeros(static_cast<size_t>(gradient.layout().size()));
      golden::parameters_from_host(zeros, gradient);
      execution->set_batch(1, sequence.inputs.data(), sequence.targets.data());
      execution->run_losses_and_gradients(
          model::loss_weights(small.context, 1, 1.0 / static_cast<double>(kSmallContext)));
      const Vector all = backend::to_host<double>(small.context, execution->losses());
      losses.push_back(std::accumulate(all.begin(), all.end(), 0.0) / kSmallContext);
      gradients.push_back(golden::parameters_to_host(gradient));
    }
  }

  // Means over some of the sequences.
  double loss(const std::vector<int64_t>& which) const {
    double sum = 0;
    for (const int64_t i : which) sum += losses.at(static_cast<size_t>(i));
    return sum / static_cast<double>(which.size());
  }
  Vector gradient(const std::vector<int64_t>& which) const {
    Vector mean(gradients[0].size());
    for (size_t j = 0; j < mean.size(); ++j) {
      for (const int64_t i : which) mean[j] += gradients.at(static_cast<size_t>(i))[j];
      mean[j] /= static_cast<double>(which.size());
    }
    return mean;
  }
};

std::vector<int64_t> every(int64_t first, int64_t end, int64_t step = 1) {
  std::vector<int64_t> all;
  for (int64_t i = first; i < end; i += step) all.push_back(i);
  return all;
}

// v'Hv over the whole case, computed operation by operation.
double form_along(SmallCase<double>& small, const DataCase& data, const Vector& direction) {
  backend::Arena<double> directions(small.context, small.weights.layout(), 1);
  golden::parameters_from_host(direction, directions);
  const auto forms = make_quadratic_forms<double>(
      small.context, small.settings.model, {.method = Method::kDoubleBackward}, 9, small.weights);
  EpochMicrobatches microbatches(data, 9);
  return forms->measure(microbatches, directions, 1, [](int64_t, int64_t) { return true; })
      .value()
      .at(0);
}

// Two programs in float64 that add in different orders: 1e-10 leaves a wide margin.
constexpr double kSmallForms = 1e-10;

void expect_same(double a, double b, double tolerance = kSmallForms) {
  EXPECT_NEAR(a, b, tolerance * std::abs(b));
}

void expect_same(const CaseResult& a, const CaseResult& b, double tolerance) {
  const auto compare = [&](const DirectionResult& x, const DirectionResult& y) {
    expect_same(x.quadratic_form, y.quadratic_form, tolerance);
    expect_same(x.squared_norm, y.squared_norm, tolerance);
  };
  ASSERT_EQ(a.noise.size(), b.noise.size());
  for (size_t k = 0; k < a.noise.size(); ++k) {
    compare(a.noise[k], b.noise[k]);
    EXPECT_EQ(a.noise[k].batch, b.noise[k].batch);
  }
  ASSERT_EQ(a.random.size(), b.random.size());
  for (size_t k = 0; k < a.random.size(); ++k) compare(a.random[k], b.random[k]);
  ASSERT_EQ(a.own.size(), b.own.size());
  for (size_t k = 0; k < a.own.size(); ++k) compare(a.own[k], b.own[k]);
  expect_same(a.loss, b.loss, tolerance);
  expect_same(a.gradient_norm, b.gradient_norm, tolerance);
}

TEST(MeasuredCase, MatchesSumsOverSequences) {
  SmallCase<double> small;
  for (const DataCaseKind kind : {DataCaseKind::kSeen, DataCaseKind::kUnseen}) {
    const DataCase data(small.cache, small.settings, kind);
    const SequenceGradients single(small, data);
    const Vector mean = single.gradient(every(0, 27));
    MeasureOptions options;
    options.noise_samples = std::nullopt;
    options.random_samples = 2;
    const CaseResult result = small.measure(data, options);

    EXPECT_EQ(result.blocks, 27);
    EXPECT_EQ(result.targets, 27 * kSmallContext);
    EXPECT_EQ(result.parameters, small.weights.layout().size());
    expect_same(result.loss, single.loss(every(0, 27)));
    expect_same(result.gradient_norm, std::sqrt(dot(mean, mean)));
    ASSERT_EQ(result.noise.size(), 4U);
    for (int64_t k = 0; k < 4; ++k) {
      const NoiseResult& sample = result.noise[static_cast<size_t>(k)];
      const std::vector<int64_t> batch = every(8 * k, std::min<int64_t>(27, 8 * (k + 1)));
      Vector noise = single.gradient(batch);
      EXPECT_EQ(sample.batch, k);
      EXPECT_EQ(sample.worker, 0);
      EXPECT_EQ(sample.targets, static_cast<int64_t>(batch.size()) * kSmallContext);
      expect_same(sample.loss, single.loss(batch));
      expect_same(sample.gradient_norm, std::sqrt(dot(noise, noise)));
      for (size_t j = 0; j < noise.size(); ++j) noise[j] -= mean[j];
      expect_same(sample.squared_norm, dot(noise, noise));
      expect_same(sample.quadratic_form, form_along(small, data, noise), 1e-9);
    }
    ASSERT_EQ(result.random.size(), 2U);
    for (uint64_t k = 0; k < 2; ++k) {
      Vector signs(mean.size());
      const RandomStream random(42, RandomPurpose::kDirection, k);
      for (size_t j = 0; j < signs.size(); ++j) signs[j] = random.rademacher(j);
      EXPECT_EQ(result.random[k].squared_norm, static_cast<double>(signs.size()));
      expect_same(result.random[k].quadratic_form, form_along(small, data, signs), 1e-9);
    }
  }
}

TEST(MeasuredCase, TakesTheLocalBatchesOfEachWorker) {
  SmallCase<double> small;
  small.settings.training.batch_tokens = 9 * kSmallContext;
  const DataCase data(small.cache, small.settings, DataCaseKind::kSeen, 3);
  const SequenceGradients single(small, data);
  const Vector mean = single.gradient(every(0, 27));
  MeasureOptions options;
  options.noise_samples = 100;
  options.random_samples = 0;
  const CaseResult result = small.measure(data, options);
  ASSERT_EQ(result.noise.size(), 9U);
  for (int64_t k = 0; k < 9; ++k) {
    const NoiseResult& sample = result.noise[static_cast<size_t>(k)];
    EXPECT_EQ(sample.batch, k / 3);
    EXPECT_EQ(sample.worker, k % 3);
    EXPECT_EQ(sample.targets, 3 * kSmallContext);
    const auto batch = every(sample.batch * 9 + sample.worker, (sample.batch + 1) * 9, 3);
    Vector noise = single.gradient(batch);
    for (size_t j = 0; j < noise.size(); ++j) noise[j] -= mean[j];
    expect_same(sample.squared_norm, dot(noise, noise));
    expect_same(sample.loss, single.loss(batch));
  }
}

TEST(MeasuredCase, DoesNotDependOnGroupsMicrobatchesOrMethod) {
  SmallCase<double> small;
  const DataCase data(small.cache, small.settings, DataCaseKind::kSeen);
  const int64_t lane = direction_lane_bytes<double>(small.settings.model);
  MeasureOptions options;
  options.noise_samples = 3;
  options.random_samples = 9;
  const CaseResult reference = small.measure(data, options);
  for (const int64_t lanes : {1, 2, 5, 12}) {
    options.direction_bytes = lanes * lane + lane / 2;
    expect_same(small.measure(data, options), reference, kSmallForms);
  }
  for (const int64_t sequences : {1, 5, 27, 40}) {
    options.hvp_batch_size = sequences;
    expect_same(small.measure(data, options), reference, kSmallForms);
  }
  options.hvp_batch_size = 0;
  small.settings.training.micro_batch_size = 3;  // also for gradients
  expect_same(small.measure(data, options), reference, kSmallForms);
  for (const Method method :
       {Method::kDoubleBackward, Method::kForwardReverse, Method::kForwardForward}) {
    options.form.method = method;
    expect_same(small.measure(data, options), reference, 1e-9);
  }
}

TEST(MeasuredCase, IsTheSameBitsAgain) {
  SmallCase<float> small;
  const DataCase data(small.cache, small.settings, DataCaseKind::kUnseen);
  MeasureOptions options;
  options.random_samples = 3;
  const auto weights = backend::to_host<float>(small.context, small.weights.all());
  const CaseResult first = small.measure(data, options);
  expect_same(small.measure(data, options), first, 0);
  EXPECT_EQ(backend::to_host<float>(small.context, small.weights.all()), weights);
}

TEST(MeasuredCase, TakesOwnDirectionsAndRecordsZeroOnes) {
  SmallCase<double> small;
  const DataCase data(small.cache, small.settings, DataCaseKind::kSeen);
  Vector v(static_cast<size_t>(small.weights.layout().size()));
  for (size_t j = 0; j < v.size(); ++j) v[j] = std::sin(static_cast<double>(j));
  OwnDirections<double> directions;
  int64_t made = 0;
  const auto direction = [&](const char* name, double scale) {
    return NamedDirection<double>{name, [&, scale](backend::Arena<double>& lanes, int64_t lane) {
                                    ++made;
                                    Vector scaled = v;
                                    for (double& x : scaled) x *= scale;
                                    golden::parameters_from_host(scaled, lanes, 0, lane);
                                  }};
  };
  directions.own = {direction("first", 1), direction("nothing", 0), direction("double", 2)};
  directions.consensus = {direction("worker 0", 0), direction("worker 1", -1)};
  MeasureOptions options;
  options.noise_samples = 0;
  options.random_samples = 0;
  options.direction_bytes = 2 * direction_lane_bytes<double>(small.settings.model);
  const CaseResult result = small.measure(data, options, directions);
  EXPECT_EQ(made, 5);
  const double expected = form_along(small, data, v);
  ASSERT_EQ(result.own.size(), 3U);
  ASSERT_EQ(result.consensus.size(), 2U);
  EXPECT_EQ(result.own[0].name, "first");
  expect_same(result.own[0].quadratic_form, expected, 1e-9);
  expect_same(result.own[0].squared_norm, dot(v, v));
  EXPECT_EQ(result.own[1].quadratic_form, 0);
  EXPECT_EQ(result.own[1].squared_norm, 0);
  EXPECT_EQ(result.own[2].name, "double");
  expect_same(result.own[2].quadratic_form, 4 * expected, 1e-9);
  EXPECT_EQ(result.consensus[0].quadratic_form, 0);
  EXPECT_EQ(result.consensus[1].name, "worker 1");
  expect_same(result.consensus[1].quadratic_form, expected, 1e-9);
  EXPECT_FALSE(result.noise_alignment().has_value());
}

// If every direction is zero, only the sequences of the epoch's gradient are read.
TEST(MeasuredCase, MakesNoPassForZeroDirections) {
  SmallCase<double> small;
  const DataCase data(small.cache, small.settings, DataCaseKind::kSeen);
  OwnDirections<double> directions;
  directions.own = {{"zero", [](backend::Arena<double>&, int64_t) {}}};
  MeasureOptions options;
  options.noise_samples = 0;
  options.random_samples = 0;
  int64_t asked = 0;
  const CaseResult result = small.measure(data, options, directions, [&] {
    ++asked;
    return 0;
  });
  EXPECT_EQ(result.own.at(0).squared_norm, 0);
  EXPECT_EQ(asked, 7 + 1);  // microbatches of 4 sequences, and one direction
}

TEST(MeasuredCase, StopsAtAnyPoint) {
  SmallCase<double> small;
  const DataCase data(small.cache, small.settings, DataCaseKind::kSeen);
  MeasureOptions options;
  options.random_samples = 2;
  int64_t asked = 0;
  small.measure(data, options, {}, [&] {
    ++asked;
    return 0;
  });
  EXPECT_GT(asked, 20);
  for (int64_t after = 1; after <= asked; after += 3) {
    int64_t left = after;
    Log log = Log::silent();
    const auto stopped = measure_case<double>(
        small.context, small.settings, data, small.weights, options, {},
        [&] { return --left > 0 ? 0 : 15; }, log);
    EXPECT_FALSE(stopped.has_value()) << after;
    EXPECT_EQ(left, 0) << "it went on";
  }
}

TEST(MeasuredCase, TakesNoMoreMemoryForMoreDirections) {
  const auto peak_bytes = [](int64_t directions, Method method) {
    SmallCase<float> small;
    const DataCase data(small.cache, small.settings, DataCaseKind::kSeen);
    MeasureOptions options;
    options.form.method = method;
    options.noise_samples = 1;
    options.random_samples = directions - 1;
    options.direction_bytes = direction_lane_bytes<float>(small.settings.model);
    small.measure(data, options);
    return small.context.memory().bytes_peak;
  };
  for (const Method method : {Method::kForwardForward, Method::kAdjointWeighted}) {
    EXPECT_EQ(peak_bytes(200, method), peak_bytes(1, method)) << method_name(method);
  }
}

TEST(MeasuredCase, RefusesMemoryForNoDirection) {
  SmallCase<float> small;
  const DataCase data(small.cache, small.settings, DataCaseKind::kSeen);
  MeasureOptions options;
  options.direction_bytes = direction_lane_bytes<float>(small.settings.model) - 1;
  expect_error(ErrorKind::kConfig, {"one direction takes", "--memory-gib"},
               [&] { small.measure(data, options); });
  options = {};
  options.random_samples = -1;
  expect_error(ErrorKind::kConfig, {"at least 0", "-1"}, [&] { small.measure(data, options); });
  options = {};
  options.noise_samples = -2;
  expect_error(ErrorKind::kConfig, {"at least 0", "-2"}, [&] { small.measure(data, options); });
}

TEST(MeasuredCase, RefusesNumbersThatAreNotFinite) {
  SmallCase<float> small;
  const DataCase data(small.cache, small.settings, DataCaseKind::kSeen);
  OwnDirections<float> directions;
  directions.own = {{"mine", [](backend::Arena<float>& lanes, int64_t lane) {
                       train::plant<float>(lanes, "norm.weight", lane,
                                           std::numeric_limits<float>::infinity());
                     }}};
  MeasureOptions options;
  options.noise_samples = 0;
  expect_error(ErrorKind::kNumeric, {"direction mine", "inf"},
               [&] { small.measure(data, options, directions); });
  // The form of a finite direction is finite, although products of its tangents overflow float.
  const auto curvature_along = [&](float number) {
    directions.own = {{"mine", [number](backend::Arena<float>& lanes, int64_t lane) {
                         train::plant<float>(lanes, "norm.weight", lane, number);
                       }}};
    const NamedResult found = small.measure(data, options, directions).own.at(0);
    return found.quadratic_form / found.squared_norm;
  };
  EXPECT_NEAR(curvature_along(3e38F) / curvature_along(1), 1, 1e-5);
  train::plant<float>(small.weights, "norm.weight", 0, std::numeric_limits<float>::quiet_NaN());
  expect_error(ErrorKind::kNumeric, {"loss of the epoch", "nan"},
               [&] { small.measure(data, options); });
}

TEST(MeasuredCase, UnderAutocastIsNearFloat32) {
  SmallCase<float> small;
  const DataCase data(small.cache, small.settings, DataCaseKind::kSeen);
  MeasureOptions options;
  options.noise_samples = std::nullopt;
  options.random_samples = 0;
  const CaseResult exact = small.measure(data, options);
  options.form.autocast = true;
  const CaseResult rounded = small.measure(data, options);
  EXPECT_NE(rounded.loss, exact.loss);
  // bfloat16 has 8 bits. In a model this narrow little averages out: 10%, where 7% was observed.
  EXPECT_NEAR(*rounded.mean_noise_norm() / *exact.mean_noise_norm(), 1, 0.1);
  EXPECT_NEAR(*rounded.normalized_alignment() / *exact.normalized_alignment(), 1, 0.1);
  SmallCase<double> wide;
  const DataCase wide_data(wide.cache, wide.settings, DataCaseKind::kSeen);
  expect_error(ErrorKind::kConfig, {"autocast", "float64"},
               [&] { wide.measure(wide_data, options); });
}

}  // namespace
}  // namespace saddle::curvature
