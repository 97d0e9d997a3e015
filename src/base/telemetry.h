// The state of the machine during a run: a thread appends a line to a CSV file once a second.
//
// Columns: time (UTC); processor use in percent, by this process and its descendants (of the cores
// that it may use) and by the whole machine; clock (mean of all processors) in MHz; temperature of
// the processor in degrees Celsius; power of its packages in watts; resident memory of this process
// and its descendants, and memory that the machine still has available, in bytes; load (mean of one
// minute). The GPU columns are empty: there is no GPU backend. A value that the machine does not
// report, or that is implausible, is an empty cell.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/files.h"
#include "base/log.h"

namespace saddle {

inline constexpr std::string_view kTelemetryHeading =
    "time,process_cpu_percent,machine_cpu_percent,clock_mhz,temperature_celsius,power_watts,"
    "resident_bytes,available_bytes,load_1min,gpu_percent,gpu_clock_mhz,gpu_temperature_celsius,"
    "gpu_power_watts,gpu_memory_bytes";

struct TelemetrySample {
  std::optional<double> process_cpu_percent;  // 0 to 100
  std::optional<double> machine_cpu_percent;  // 0 to 100
  std::optional<double> clock_mhz;
  std::optional<double> temperature_celsius;
  std::optional<double> power_watts;
  std::optional<int64_t> resident_bytes;
  std::optional<int64_t> available_bytes;
  std::optional<double> load;
};

// One line of the file, without its newline.
std::string telemetry_line(std::string_view time, const TelemetrySample& sample);

// Line n is due n intervals after the beginning. Returns the first line after `line`, which was
// written, that is still due: lines that a pause of the process missed are not made up for.
int64_t next_telemetry_line(int64_t line, double elapsed_seconds, double interval_seconds);

// Reads samples from /proc and /sys (kernel documentation: filesystems/proc.rst,
// admin-guide/pm/cpufreq.rst, power/powercap/powercap.rst, hwmon/sysfs-interface.rst).
class TelemetryReader {
 public:
  // `process` and its descendants are "this process", which may use `cores`. `root` is / except in
  // tests.
  TelemetryReader(int64_t process, int cores, Path root = "/");

  // `seconds` is the time on a monotonic clock. Use and power are means since the previous sample;
  // the first sample has none.
  TelemetrySample sample(double seconds);

 private:
  struct Busy {
    double busy = 0, total = 0;  // ticks
  };
  struct Process {
    int64_t parent = 0, started = 0, resident_pages = 0;
    double ticks = 0;
  };
  using Processes = std::map<int64_t, Process>;

  std::optional<Busy> machine_busy() const;
  Processes own_processes() const;
  std::optional<double> clock_mhz() const;
  std::optional<double> temperature() const;
  std::optional<double> power(double seconds);

  int64_t process_;
  int cores_;
  Path root_;
  std::optional<double> before_seconds_;
  std::optional<Busy> before_machine_;
  Processes before_;
  std::map<Path, double> before_energy_;  // of each package, microjoules
};

// Appends to `path` until it is destroyed; the last line covers the rest of a second.
class Telemetry {
 public:
  // Keeps the lines of an earlier process and removes an unfinished one. The thread takes no
  // signals. Errors: kIo; kData if the file exists and is not of this kind. If writing fails later,
  // `log`, which must outlive the object, gets one warning and the work continues.
  Telemetry(Path path, Log& log, double interval_seconds = 1);
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;
  ~Telemetry();

 private:
  void run(const std::stop_token& stop, double interval_seconds);

  AppendFile file_;
  Log& log_;
  TelemetryReader reader_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace saddle
