#include "base/candidate.h"

#include <gtest/gtest.h>

namespace saddle {
namespace {

// This program lists its tests, which is no JSON: the other candidates must still get their turn.
TEST(Candidate, ThatPrintsSomethingElseIsAFailure) {
  const CandidateOutcome outcome = run_candidate({"--gtest_list_tests"}, 0, [] { return 0; });
  EXPECT_FALSE(outcome.record);
  EXPECT_NE(outcome.failure.find("the output of a candidate"), std::string::npos)
      << outcome.failure;
}

}  // namespace
}  // namespace saddle
