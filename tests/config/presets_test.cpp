#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

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

TEST(Presets, SayNothingButShapeAndPlace) {
  for (const char* name : {"20m", "50m", "90m"}) {
    Settings settings = preset(name);
    EXPECT_EQ(settings.model.head_dim(), 64);
    settings.model = {};
    settings.data.cache = Settings{}.data.cache;
    settings.runtime.output_dir = Settings{}.runtime.output_dir;
    EXPECT_EQ(settings, Settings{}) << name;
  }
}

TEST(Presets, EveryFileLoads) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(configs())) {
    EXPECT_EQ(entry.path().extension(), ".yaml");
    EXPECT_NO_THROW(load_settings({entry.path()}, {})) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 5);
}

}  // namespace
}  // namespace saddle::config
