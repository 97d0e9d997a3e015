#include "base/telemetry.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/process.h"
#include "base/system_error.h"
#include "base/threads.h"

namespace saddle {
namespace {

constexpr int kGpuColumns = 5;

std::string cell(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "";
}

std::string cell(const std::optional<int64_t>& value) {
  return value ? std::to_string(*value) : "";
}

// Keeps the lines of an earlier process, but removes an unfinished last one. Returns whether the
// file has a heading.
bool mend(const Path& path) {
  const std::string text = read_file(path);
  const size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  const std::string heading = std::string(kTelemetryHeading) + "\n";
  const bool ours = whole > 0 ? text.starts_with(heading) : kTelemetryHeading.starts_with(text);
  if (!ours) {
    fail(ErrorKind::kData, "'{}' does not begin with the telemetry heading: expected '{}'",
         path.string(), kTelemetryHeading);
  }
  if (whole < text.size() && ::truncate(path.c_str(), static_cast<off_t>(whole)) != 0) {
    fail_system("truncate", path);
  }
  return whole > 0;
}

}  // namespace

std::string telemetry_line(std::string_view time, const TelemetrySample& sample) {
  return fmt::format("{},{},{},{},{},{},{},{},{}{}", time, cell(sample.process_cpu_percent, 1),
                     cell(sample.machine_cpu_percent, 1), cell(sample.clock_mhz, 0),
                     cell(sample.temperature_celsius, 1), cell(sample.power_watts, 1),
                     cell(sample.resident_bytes), cell(sample.available_bytes),
                     cell(sample.load, 2), std::string(kGpuColumns, ','));
}

int64_t next_telemetry_line(int64_t line, double elapsed_seconds, double interval_seconds) {
  const auto passed = static_cast<int64_t>(std::floor(elapsed_seconds / interval_seconds));
  return std::max(line, passed) + 1;
}

Telemetry::Telemetry(Path path, Log& log, double interval_seconds)
    : file_(std::move(path)), log_(log), reader_(this_process(), available_cores()) {
  if (!mend(file_.path())) file_.write(fmt::format("{}\n", kTelemetryHeading));
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits it
  try {
    thread_ = start_thread("telemetry", [this, interval_seconds](const std::stop_token& stop) {
      run(stop, interval_seconds);
    });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Telemetry::~Telemetry() {
  thread_.request_stop();
  thread_.join();
}

void Telemetry::run(const std::stop_token& stop, double interval_seconds) {
  try {
    const Stopwatch watch;
    const auto began = std::chrono::steady_clock::now();
    reader_.sample(watch.seconds());
    int64_t line = 1;
    do {
      const std::chrono::duration<double> due(interval_seconds * static_cast<double>(line));
      const auto until =
          began + std::chrono::duration_cast<std::chrono::steady_clock::duration>(due);
      std::unique_lock lock(mutex_);
      ended_.wait_until(lock, stop, until, [] { return false; });
      file_.write(telemetry_line(utc_timestamp(), reader_.sample(watch.seconds())) + "\n");
      line = next_telemetry_line(line, watch.seconds(), interval_seconds);
    } while (!stop.stop_requested());
  } catch (const std::exception& error) {
    log_.warn("telemetry ends here: {}", error.what());
  }
}

}  // namespace saddle
