#include "backend/parallel.h"

#include <gtest/gtest.h>

#include <atomic>

#include "support/expect_error.h"

namespace saddle::backend {
namespace {

// An exception of a piece is rethrown after the loop, with one thread and with several; the process
// survives, and the other pieces are done.
TEST(Parallel, ExceptionsAreRethrownAfterTheLoop) {
  for (const int threads : {1, 3}) {
    Context context(threads);
    std::atomic<int> done{0};
    const auto piece = [&](int64_t i) {
      if (i == 0) fail(ErrorKind::kData, "piece {} is bad", i);
      ++done;
    };
    expect_error(ErrorKind::kData, {"piece 0 is bad"}, [&] { parallel_for(context, 30, piece); });
    EXPECT_EQ(done, 29) << threads << " threads";
    done = 0;
    expect_error(ErrorKind::kData, {"piece 0 is bad"},
                 [&] { parallel_tasks(context, 30, [&](Context&, int64_t i) { piece(i); }); });
    EXPECT_EQ(done, 29) << threads << " threads";
  }
}

}  // namespace
}  // namespace saddle::backend
