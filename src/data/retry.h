// How long to wait before trying again, and when to give up.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "data/download.h"

namespace saddle::data {

class Retry {
 public:
  // `what` names the work in messages.
  Retry(std::string what, const DownloadOptions& options, Log* log)
      : what_(std::move(what)), options_(options), log_(log) {}

  // Waits before the next attempt, at least `retry_after_s` up to the limit in the options. An
  // Error of kind kIo with `reason` when the retries are used up, or after a stop request.
  void failed(const std::string& reason, double retry_after_s = 0.0);

  // The last attempt made progress: failures count from zero again.
  void progressed() { failures_ = 0; }

  // An Error of kind kIo after a stop request.
  void check_stop() const;

 private:
  void sleep(double seconds) const;

  std::string what_;
  const DownloadOptions& options_;
  Log* log_;
  int64_t failures_ = 0;  // in a row
};

}  // namespace saddle::data
