#include "curvature/option_checks.h"

#include <cmath>

#include "base/error.h"

namespace saddle::curvature {
namespace {

constexpr double kMostGib = 1e6;
constexpr int64_t kMostThreads = 1024;  // as runtime.threads allows

}  // namespace

void check_samples(std::string_view option, int64_t count, int64_t least) {
  if (count >= least && count <= kMostSamples) return;
  fail(ErrorKind::kUsage, "{} is {}: at least {} and at most {} was expected", option, count, least,
       kMostSamples);
}

void check_seed_and_resources(int64_t seed, int64_t hvp_batch_size, double memory_gib,
                              int64_t threads) {
  if (seed < 0) fail(ErrorKind::kUsage, "--seed is {}: at least 0 was expected", seed);
  if (hvp_batch_size < 0 || hvp_batch_size > kMostSequences) {
    fail(ErrorKind::kUsage, "--hvp-batch-size is {}: at least 1 was expected, or 0; at most {}",
         hvp_batch_size, kMostSequences);
  }
  if (!(memory_gib > 0) || !(memory_gib < kMostGib)) {
    fail(ErrorKind::kUsage, "--memory-gib is {}: a number above 0 and below {} was expected",
         memory_gib, kMostGib);
  }
  if (threads < 0 || threads > kMostThreads) {
    fail(ErrorKind::kUsage, "--threads is {}: 0 to {} was expected", threads, kMostThreads);
  }
}

int64_t bytes_of_gib(double gib) {
  return static_cast<int64_t>(std::ldexp(gib, 30));
}

}  // namespace saddle::curvature
