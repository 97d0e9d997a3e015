#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "config/budget.h"
#include "config/load.h"
#include "config/settings.h"

namespace saddle::config {
namespace {

Path configs() {
  return Path(SADDLE_SOURCE_DIR) / "configs";
}

Settings preset(const std::string& name) {
  return load_settings({configs() / (name + ".yaml")}, {});
}

TEST(Presets, ParameterCounts) {
  EXPECT_EQ(parameter_count(preset("20m").model), 20403520);
  EXPECT_EQ(parameter_count(preset("50m").model), 48507392);
  EXPECT_EQ(parameter_count(preset("90m").model), 91605120);
  EXPECT_EQ(parameter_count(preset("quickstart").model), 1066112);
  EXPECT_EQ(parameter_count(ModelSettings{}), 20403520) << "the defaults are the 20m preset";
}

TEST(Presets, SetOnlyShapeAndPlace) {
  for (const char* name : {"20m", "50m", "90m"}) {
    Settings settings = preset(name);
    EXPECT_EQ(settings.model.head_dim(), 64);
    settings.model = {};
    settings.data.cache = Settings{}.data.cache;
    settings.runtime.output_dir = Settings{}.runtime.output_dir;
    EXPECT_EQ(settings, Settings{}) << name;
  }
}

// What the packed presets change in the 20m model; every epoch has whole updates.
TEST(Presets, OfSeveralWorkers) {
  struct Packed {
    const char* name;
    int64_t workers, batch_tokens;
    Topology topology;
    Scheme scheme;
    double lr, beta1, beta2;
  };
  const std::vector<Packed> all = {
      {"packed4-20m", 4, 32768, Topology::kComplete, Scheme::kAdaptWhileCombine, 1e-3, 0.9, 0.95},
      {"packed8-20m", 8, 32768, Topology::kComplete, Scheme::kAdaptWhileCombine, 1e-3, 0.9, 0.95},
      {"packed4-20m-awc", 4, 131072, Topology::kOnePeerExponential, Scheme::kAdaptWhileCombine,
       0.008, 0.95, 0.99},
      {"packed4-20m-atc", 4, 131072, Topology::kOnePeerExponential, Scheme::kAdaptThenCombine,
       0.0056, 0.9, 0.99},
      {"packed8-20m-awc", 8, 131072, Topology::kOnePeerExponential, Scheme::kAdaptWhileCombine,
       0.0056, 0.95, 0.999},
      {"packed4-20m-adaptive", 4, 131072, Topology::kOnePeerExponential, Scheme::kAdaptWhileCombine,
       0.008, 0.95, 0.99},
  };
  for (const Packed& packed : all) {
    SCOPED_TRACE(packed.name);
    const Settings settings = preset(packed.name);
    EXPECT_EQ(settings.model, ModelSettings{});
    EXPECT_EQ(settings.runtime.output_dir, std::string("runs/") + packed.name);
    EXPECT_EQ(settings.decentralized.num_models, packed.workers);
    EXPECT_EQ(settings.decentralized.topology, packed.topology);
    EXPECT_EQ(settings.decentralized.scheme, packed.scheme);
    EXPECT_EQ(settings.optimizer.lr, packed.lr);
    EXPECT_EQ(settings.optimizer.beta1, packed.beta1);
    EXPECT_EQ(settings.optimizer.beta2, packed.beta2);
    EXPECT_EQ(settings.training.batch_tokens, packed.batch_tokens);
    EXPECT_EQ(settings.training.micro_batch_size, packed.batch_tokens / 1024 / packed.workers);
    EXPECT_EQ(epoch_boundaries(settings).size(), 40U);
    for (const int64_t boundary : epoch_boundaries(settings)) {
      EXPECT_EQ(boundary * 1024 % packed.batch_tokens, 0);
    }
    const bool adaptive = settings.decentralized.adaptive_consensus.start_frac.has_value();
    EXPECT_EQ(adaptive, std::string(packed.name) == "packed4-20m-adaptive");
  }
}

TEST(Presets, EveryFileLoads) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(configs())) {
    EXPECT_EQ(entry.path().extension(), ".yaml");
    EXPECT_NO_THROW(load_settings({entry.path()}, {})) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 12);
}

}  // namespace
}  // namespace saddle::config
