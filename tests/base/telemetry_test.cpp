// Reading a fake /proc and /sys, and the file that the thread writes.
#include "base/telemetry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle {
namespace {

// A machine made of files.
class PlantedMachine {
 public:
  Path root() const { return directory_.path(); }
  void write(const std::string& file, const std::string& text) const {
    const Path path = root() / file;
    std::filesystem::create_directories(path.parent_path());
    write_file_atomically(path, text);
  }
  // `ticks` are split between user and system time.
  void process(int64_t number, int64_t parent, int64_t ticks, int64_t pages,
               int64_t started = 7) const {
    write(fmt::format("proc/{}/stat", number),
          fmt::format("{} (a ) name) S {} 1 1 0 -1 0 0 0 0 0 {} {} 999 999 20 0 3 0 {} 4096 {} 1 1",
                      number, parent, ticks - ticks / 3, ticks / 3, started, pages));
  }

 private:
  TemporaryDirectory directory_;
};

TEST(TelemetryReader, LeavesUnknownValuesEmpty) {
  const PlantedMachine machine;
  TelemetryReader reader(10, 2, machine.root());
  reader.sample(0);
  EXPECT_EQ(telemetry_line("T", reader.sample(1)), "T,,,,,,,,,,,,,");
}

TEST(TelemetryReader, HasAsManyCellsAsTheHeading) {
  const auto commas = [](std::string_view text) { return std::ranges::count(text, ','); };
  EXPECT_EQ(commas(telemetry_line("T", {})), commas(kTelemetryHeading));
}

TEST(TelemetryReader, ReadsAvailableValues) {
  const PlantedMachine machine;
  const auto ticks = static_cast<int64_t>(::sysconf(_SC_CLK_TCK));
  machine.write("proc/stat", "cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3\n");
  machine.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable:     321 kB\n");
  machine.write("proc/loadavg", "1.25 0.5 0.25 2/99 4242\n");
  machine.write("proc/cpuinfo", "processor : 0\ncpu MHz\t\t: 2000.5\ncpu MHz\t\t: 3000.5\n");
  machine.write("sys/class/thermal/thermal_zone0/type", "acpitz\n");
  machine.write("sys/class/thermal/thermal_zone0/temp", "90000\n");
  machine.write("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
  machine.write("sys/class/thermal/thermal_zone1/temp", "61500\n");
  machine.write("sys/class/hwmon/hwmon0/name", "k10temp\n");
  machine.write("sys/class/hwmon/hwmon0/temp1_input", "-5000\n");
  machine.write("sys/class/powercap/intel-rapl:0/energy_uj", "90000000\n");
  machine.write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "100000000\n");
  machine.write("sys/class/powercap/intel-rapl:0:0/energy_uj", "5\n");
  machine.process(10, 1, 1000, 30);
  machine.process(11, 10, 500, 20);
  machine.process(12, 11, 0, 10);
  machine.process(13, 1, 7, 1000);  // not a descendant
  TelemetryReader reader(10, 4, machine.root());
  const TelemetrySample first = reader.sample(100);
  EXPECT_FALSE(first.process_cpu_percent || first.machine_cpu_percent || first.power_watts);

  machine.write("proc/stat", "cpu  130 0 110 740 120 0 0 0 60 0\n");
  machine.write("sys/class/powercap/intel-rapl:0/energy_uj", "20000000\n");
  // Of 2 s on 4 cores: 1 s, 0.5 s and, in a new child, 0.5 s.
  machine.process(10, 1, 1000 + ticks, 30);
  machine.process(11, 10, 500 + ticks / 2, 20);
  std::filesystem::remove_all(machine.root() / "proc/12");
  machine.process(14, 11, ticks / 2, 10);
  machine.process(13, 1, 7 + ticks, 1000);
  const TelemetrySample sample = reader.sample(102);
  EXPECT_DOUBLE_EQ(sample.process_cpu_percent.value(), 25);
  EXPECT_DOUBLE_EQ(sample.machine_cpu_percent.value(), 40);
  EXPECT_DOUBLE_EQ(sample.clock_mhz.value(), 2500.5);
  EXPECT_DOUBLE_EQ(sample.temperature_celsius.value(), 61.5);
  EXPECT_DOUBLE_EQ(sample.power_watts.value(), 15);  // 30 J, across the wrap-around of the counter
  EXPECT_EQ(sample.resident_bytes.value(), 60 * ::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(sample.available_bytes.value(), 321 * 1024);
  EXPECT_DOUBLE_EQ(sample.load.value(), 1.25);

  // The frequency driver takes precedence if there is one.
  machine.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1500000\n");
  EXPECT_DOUBLE_EQ(reader.sample(103).clock_mhz.value(), 1500);
}

TEST(TelemetryReader, PercentagesStayBetween0And100) {
  const PlantedMachine machine;
  machine.write("proc/stat", "cpu  100 0 100 700 100 0 0 0\n");
  machine.process(10, 1, 1000, 30);
  TelemetryReader reader(10, 1, machine.root());
  reader.sample(0);
  machine.process(10, 1, 1000 + ::sysconf(_SC_CLK_TCK) * 104 / 100, 30);
  machine.write("proc/stat", "cpu  152 0 152 698 98 0 0 0\n");  // rounded: 104 of 100
  const TelemetrySample all = reader.sample(1);
  EXPECT_EQ(all.process_cpu_percent.value(), 100);
  EXPECT_EQ(all.machine_cpu_percent.value(), 100);
  machine.process(10, 1, 1000000, 30);
  machine.write("proc/stat", "cpu  252 0 252 598 48 0 0 0\n");  // idle time that ran backwards
  const TelemetrySample much = reader.sample(2);
  EXPECT_FALSE(much.process_cpu_percent);
  EXPECT_FALSE(much.machine_cpu_percent);
  machine.process(10, 1, 5, 30, 8);                             // the process number was reused
  machine.write("proc/stat", "cpu  100 0 100 700 50 0 0 0\n");  // busy time that ran backwards
  const TelemetrySample little = reader.sample(3);
  EXPECT_GE(little.process_cpu_percent.value(), 0);
  EXPECT_LE(little.process_cpu_percent.value(), 100);
  EXPECT_FALSE(little.machine_cpu_percent);
  EXPECT_FALSE(reader.sample(3).process_cpu_percent);  // no time has passed
}

TEST(TelemetryReader, AddsThePowerOfEveryPackage) {
  const PlantedMachine machine;
  const auto write = [&](const char* package, const char* energy) {
    machine.write(fmt::format("sys/class/powercap/{}/energy_uj", package), energy);
  };
  write("intel-rapl:0", "1000000\n");
  write("intel-rapl:1", "5000000\n");
  TelemetryReader reader(10, 2, machine.root());
  reader.sample(0);
  write("intel-rapl:0", "9000000\n");   // 8 J
  write("intel-rapl:1", "35000000\n");  // 30 J
  EXPECT_DOUBLE_EQ(reader.sample(2).power_watts.value(), 19);
}

// All its time is new, not only what exceeds that of the process that had the number before.
TEST(TelemetryReader, NoticesAProcessNumberThatIsUsedAgain) {
  const PlantedMachine machine;
  const auto ticks = static_cast<int64_t>(::sysconf(_SC_CLK_TCK));
  machine.process(10, 1, 0, 30);
  machine.process(11, 10, ticks / 2, 30, 7);
  TelemetryReader reader(10, 1, machine.root());
  reader.sample(0);
  machine.process(11, 10, ticks, 30, 8);
  EXPECT_DOUBLE_EQ(reader.sample(2).process_cpu_percent.value(), 50);
}

std::vector<std::string> lines_of(const Path& path) {
  std::istringstream text(read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(Telemetry, AppendsLinesUntilItEnds) {
  const TemporaryDirectory directory;
  const Path path = directory.path() / "telemetry.csv";
  Log log = Log::silent();
  {
    const Telemetry telemetry(path, log, 0.01);
    for (const Stopwatch watch; lines_of(path).size() < 3 && watch.seconds() < 60;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  const std::vector<std::string> first = lines_of(path);
  ASSERT_GE(first.size(), 3U);
  EXPECT_EQ(first[0], kTelemetryHeading);
  EXPECT_EQ(std::ranges::count(first[1], ','), std::ranges::count(kTelemetryHeading, ','));
  write_file_atomically(path, read_file(path) + "2026-01-31T12:0");  // killed at this point
  { const Telemetry telemetry(path, log, 1000); }
  const std::vector<std::string> second = lines_of(path);
  ASSERT_EQ(second.size(), first.size() + 1);
  EXPECT_EQ(std::vector(second.begin(), second.begin() + static_cast<int64_t>(first.size())),
            first);
}

TEST(Telemetry, OmitsLinesThatAPauseMissed) {
  EXPECT_EQ(next_telemetry_line(1, 1.2, 1), 2);
  EXPECT_EQ(next_telemetry_line(3, 2.9, 1), 4);  // written early
  EXPECT_EQ(next_telemetry_line(1, 3600.5, 1), 3601);
  EXPECT_EQ(next_telemetry_line(1, 20, 5), 5);
}

TEST(Telemetry, EndsAtOnce) {
  const TemporaryDirectory directory;
  Log log = Log::silent();
  const Stopwatch watch;
  { const Telemetry telemetry(directory.path() / "telemetry.csv", log, 1000); }
  EXPECT_LT(watch.seconds(), 10);
}

TEST(Telemetry, RefusesAnotherFile) {
  const TemporaryDirectory directory;
  const Path path = directory.path() / "telemetry.csv";
  write_file_atomically(path, "a,b\n1,2\n");
  Log log = Log::silent();
  expect_error(ErrorKind::kData, {path.string(), "heading"},
               [&] { const Telemetry telemetry(path, log); });
  EXPECT_EQ(read_file(path), "a,b\n1,2\n");
  expect_error(ErrorKind::kIo, {"nowhere"},
               [&] { const Telemetry telemetry(directory.path() / "nowhere" / "t.csv", log); });
}

// The number of threads of this process that block SIGTERM, except the one that runs the tests.
int threads_without_sigterm() {
  int threads = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == std::to_string(::getpid())) continue;
    std::istringstream status(read_file(entry.path() / "status"));
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigBlk:")) continue;
      const uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
      threads += (blocked >> (SIGTERM - 1) & 1) != 0 ? 1 : 0;
    }
  }
  return threads;
}

// A signal to the process goes to a thread that does not block it.
TEST(Telemetry, TakesNoSignals) {
  const TemporaryDirectory directory;
  Log log = Log::silent();
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const int threads = threads_without_sigterm();
  const Telemetry telemetry(directory.path() / "telemetry.csv", log, 1000);
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&before, SIGTERM), ::sigismember(&after, SIGTERM));
  EXPECT_EQ(threads_without_sigterm(), threads + 1);
}

}  // namespace
}  // namespace saddle
