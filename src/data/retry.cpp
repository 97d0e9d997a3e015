#include "data/retry.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace saddle::data {

namespace {

constexpr double kStopInterval_s = 0.05;  // between two checks for a stop request

}  // namespace

void Retry::check_stop() const {
  if (options_.http.stop && options_.http.stop()) {
    fail(ErrorKind::kIo, "{} was stopped", what_);
  }
}

void Retry::sleep(double seconds) const {
  const Stopwatch watch;
  for (double left = seconds; left > 0.0; left = seconds - watch.seconds()) {
    check_stop();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, kStopInterval_s)));
  }
}

void Retry::failed(const std::string& reason, double retry_after_s) {
  if (++failures_ > options_.retries) {
    fail(ErrorKind::kIo, "{} failed: {}; given up after {} attempts without another MiB", what_,
         reason, failures_);
  }
  const double doubled =
      options_.first_delay_s * std::exp2(static_cast<double>(std::min<int64_t>(failures_ - 1, 60)));
  const double delay = std::max(std::min(doubled, options_.max_delay_s),
                                std::min(retry_after_s, options_.max_retry_after_s));
  log_->warn("{}: {}; trying again in {} (retry {} of {})", what_, reason, human_duration(delay),
             failures_, options_.retries);
  sleep(delay);
}

}  // namespace saddle::data
