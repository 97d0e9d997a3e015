// How a machine fared while something ran: a thread that appends a line to a CSV file once a
// second.
//
// Columns: time (UTC); use of the processor in percent, by this process with those that it started
// (of the cores that it may use) and by the whole machine; clock (mean of all processors) in MHz;
// temperature of the processor in degrees Celsius; power of its packages in watts; resident memory
// of this process with those that it started, and memory that the machine could still give, in
// bytes; load (mean of one minute). The columns of a GPU are empty: there is no GPU backend. What
// this machine does not tell, or tells nonsense about, is an empty cell.
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

// One line of the file, without its end.
std::string telemetry_line(std::string_view time, const TelemetrySample& sample);

// Line n is due n intervals after the beginning. The first one after `line`, which was written,
// that is not past: what a pause of the process left out stays out.
int64_t next_telemetry_line(int64_t line, double elapsed_seconds, double interval_seconds);

// Reads samples from /proc and /sys (kernel documentation: filesystems/proc.rst,
// admin-guide/pm/cpufreq.rst, power/powercap/powercap.rst, hwmon/sysfs-interface.rst).
class TelemetryReader {
 public:
  // `process` with all that it started is "this process", which may use `cores`. `root` is / but in
  // tests.
  TelemetryReader(int64_t process, int cores, Path root = "/");

  // `seconds` on a monotonic clock. Use and power are means since the sample before; the first
  // sample has none.
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

// Appends to `path` until it is destroyed; the last line says how the rest of a second was.
class Telemetry {
 public:
  // Lines of an earlier process stay; one that was not finished is cut off. The thread takes no
  // signals. Errors: kIo; kData when the file is there and is not of this kind. When writing fails
  // later, `log`, which must outlive the object, is told once and the work goes on.
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
