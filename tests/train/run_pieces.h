// A run in one go against the same run in pieces.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "train/small_run.h"

namespace saddle::train {

// Expects that two finished runs have the same bits everywhere: weights, moments, losses, norms,
// rates and evaluations.
inline void expect_same_run(const SmallRun& run, const SmallRun& reference) {
  EXPECT_EQ(numbers_of(run.file("metrics.jsonl")), numbers_of(reference.file("metrics.jsonl")));
  for (const char* name : {"final.state.safetensors", "final.safetensors"}) {
    EXPECT_EQ(tensor_bytes(run.file(name)), tensor_bytes(reference.file(name))) << name;
  }
  Json results[2] = {read_json(run.file("result.json")), read_json(reference.file("result.json"))};
  for (Json& result : results) {
    for (const char* field :
         {"seconds", "tokens_per_second", "elapsed_tokens_per_second", "peak_memory_bytes"}) {
      result.erase(field);
    }
    for (const char* part : {"validation", "last", "best"}) result[part].erase("seconds");
  }
  EXPECT_EQ(results[0], results[1]);
}

// Compares a run in one go with the same run cut into pieces after the updates `stops`.
template <class Configure>
void compare_pieces(Configure configure, const std::vector<int64_t>& stops) {
  SmallRun reference;
  configure(reference.settings);
  ASSERT_TRUE(reference.train().completed);

  SmallRun run;
  configure(run.settings);
  for (const int64_t step : stops) {
    const TrainOutcome outcome = run.train(stop_after(run, step, "auto"));
    EXPECT_FALSE(outcome.completed);
    EXPECT_EQ(outcome.state.step, step);
  }
  EXPECT_TRUE(run.train(resume_from("auto")).completed);
  expect_same_run(run, reference);
}

}  // namespace saddle::train
