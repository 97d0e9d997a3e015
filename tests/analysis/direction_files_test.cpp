// Results along directions from files do not depend on their length, but for its square.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "analysis/analyzed_run.h"
#include "curvature/golden_batch.h"
#include "model/safetensors.h"
#include "support/run_program.h"

namespace saddle::analysis {
namespace {

// The tensors of a weight file times what brings their norm to `norm`, in F64.
void write_direction(const Path& weights, double norm, const Path& file) {
  const model::SafetensorsReader reader(weights);
  std::vector<model::TensorEntry> entries;
  std::vector<double> all;
  for (const model::TensorEntry& entry : reader.entries()) {
    std::vector<float> values(static_cast<size_t>(entry.bytes) / sizeof(float));
    reader.read(entry, 0, static_cast<int64_t>(values.size()), values.data());
    all.insert(all.end(), values.begin(), values.end());
    model::TensorEntry copy;
    copy.name = entry.name;
    copy.dtype = "F64";
    copy.shape = entry.shape;
    entries.push_back(copy);
  }
  const double length = std::sqrt(std::inner_product(all.begin(), all.end(), all.begin(), 0.0));
  for (double& x : all) x *= norm / length;
  model::SafetensorsWriter writer(file, entries, {});
  writer.write(all.data(), all.size() * sizeof(double));
  writer.commit();
}

TEST(DirectionScaleOfFiles, DoesNotMatterToAnalyze) {
  const AnalyzedRun run;
  const std::vector<std::pair<std::string, double>> files = {
      {"one", 1}, {"shortest", 1e-30}, {"short", 1e-20}, {"long", 1e20}, {"longest", 1e30}};
  std::string words;
  for (const auto& [name, norm] : files) {
    const Path file = run.directory / (name + ".safetensors");
    write_direction(run.run() / "epoch-005.safetensors", norm, file);
    words += " --direction " + file.string();
  }
  for (const curvature::Method method : curvature::kAllMethods) {
    for (const char* precision : {"--dtype float32", "--dtype float64", "--amp"}) {
      const std::string place = fmt::format("{} {}", curvature::method_name(method), precision);
      const Path output = run.directory / place;
      const ProgramResult result = run_saddle(fmt::format(
          "analyze --run {} --output '{}' --threads 1 --checkpoints final --data-case seen "
          "--noise-samples 0 --random-samples 0 --method {} {} {}",
          run.run().string(), output.string(), curvature::method_name(method), precision, words));
      ASSERT_EQ(result.exit_code, 0) << place << result.errors;
      const Json own = read_json(output / "final.seen.json")["own"];
      ASSERT_EQ(own.size(), files.size());
      const double expected = own[0]["quadratic_form"].get<double>();
      for (size_t k = 0; k < files.size(); ++k) {
        const double square = files[k].second * files[k].second;
        EXPECT_NEAR(own[k]["squared_norm"].get<double>() / square, 1, 1e-6) << place;
        EXPECT_NEAR(own[k]["quadratic_form"].get<double>() / square / expected, 1, 1e-6)
            << place << " " << files[k].first;
      }
    }
  }
}

}  // namespace
}  // namespace saddle::analysis
