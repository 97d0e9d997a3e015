#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/telemetry.h"

namespace saddle {
namespace {

// The content of the file; empty if it cannot be read: most machines lack some of these files.
std::string text_or_nothing(const Path& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return {};
  }
}

std::optional<double> first_number(const std::string& text) {
  std::istringstream stream(text);
  double value = 0;
  if (!(stream >> value)) return std::nullopt;
  return value;
}

std::vector<Path> entries(const Path& directory) {
  std::vector<Path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    found.push_back(at->path());
  }
  return found;
}

// The process number if `name` is one, as names of directories in /proc may be.
std::optional<int64_t> process_number(const std::string& name) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// The numbers after `key` at the beginning of lines such as "cpu MHz : 2596.1".
std::vector<double> values_of(const std::string& text, std::string_view key) {
  std::vector<double> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const size_t begin = line.find_first_of("0123456789", key.size());
    if (begin == std::string::npos) continue;
    if (const auto value = first_number(line.substr(begin))) values.push_back(*value);
  }
  return values;
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// A share in percent. The rounding of counters may exceed the whole a little; a larger excess, or a
// counter that ran backwards, gives no value.
std::optional<double> percent(double part, double whole) {
  constexpr double kRounding = 1.05;
  if (!(whole > 0) || !(part >= 0) || part > kRounding * whole) return std::nullopt;
  return std::min(100.0, 100 * part / whole);
}

}  // namespace

TelemetryReader::TelemetryReader(int64_t process, int cores, Path root)
    : process_(process), cores_(cores), root_(std::move(root)) {}

std::optional<TelemetryReader::Busy> TelemetryReader::machine_busy() const {
  std::istringstream line(text_or_nothing(root_ / "proc/stat"));
  std::string name;
  if (!(line >> name) || name != "cpu") return std::nullopt;
  // user nice system idle iowait irq softirq steal; user already includes the guests.
  Busy busy;
  double ticks = 0;
  for (int column = 0; column < 8 && line >> ticks; ++column) {
    busy.total += ticks;
    if (column != 3 && column != 4) busy.busy += ticks;
  }
  return busy;
}

TelemetryReader::Processes TelemetryReader::own_processes() const {
  Processes all;
  for (const Path& directory : entries(root_ / "proc")) {
    const auto number = process_number(directory.filename().string());
    if (!number) continue;
    const std::string text = text_or_nothing(directory / "stat");
    // PID (NAME) STATE PPID ...; the name may contain blanks and parentheses.
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream fields(text.substr(name_end + 1));
    std::vector<std::string> words;
    for (std::string word; words.size() < 22 && fields >> word;) words.push_back(word);
    if (words.size() < 22) continue;
    const auto field = [&](size_t i) { return first_number(words[i]).value_or(0); };
    all[*number] = {.parent = static_cast<int64_t>(field(1)),
                    .started = static_cast<int64_t>(field(19)),
                    .resident_pages = static_cast<int64_t>(field(21)),
                    .ticks = field(11) + field(12)};
  }
  Processes own;
  std::vector<int64_t> open = {process_};
  while (!open.empty()) {
    const int64_t number = open.back();
    open.pop_back();
    if (!all.contains(number) || !own.emplace(number, all[number]).second) continue;
    for (const auto& [other, process] : all) {
      if (process.parent == number) open.push_back(other);
    }
  }
  return own;
}

std::optional<double> TelemetryReader::clock_mhz() const {
  std::vector<double> clocks;
  for (const Path& directory : entries(root_ / "sys/devices/system/cpu")) {
    const auto kilohertz = first_number(text_or_nothing(directory / "cpufreq/scaling_cur_freq"));
    if (kilohertz && *kilohertz > 0) clocks.push_back(*kilohertz / 1000);
  }
  if (clocks.empty()) clocks = values_of(text_or_nothing(root_ / "proc/cpuinfo"), "cpu MHz");
  std::erase_if(clocks, [](double clock) { return !(clock > 0); });
  return mean(clocks);
}

std::optional<double> TelemetryReader::temperature() const {
  std::optional<double> hottest;
  const auto take = [&](const Path& file) {
    const auto thousandths = first_number(text_or_nothing(file));
    if (!thousandths || *thousandths <= 0 || *thousandths > 200'000) return;
    hottest = std::max(hottest.value_or(0), *thousandths / 1000);
  };
  for (const Path& sensor : entries(root_ / "sys/class/hwmon")) {
    const std::string name = text_or_nothing(sensor / "name");
    if (!name.starts_with("coretemp") && !name.starts_with("k10temp")) continue;
    for (const Path& file : entries(sensor)) {
      const std::string input = file.filename().string();
      if (input.starts_with("temp") && input.ends_with("_input")) take(file);
    }
  }
  for (const Path& zone : entries(root_ / "sys/class/thermal")) {
    const std::string type = text_or_nothing(zone / "type");
    if (type.find("cpu") != std::string::npos || type.starts_with("x86_pkg")) take(zone / "temp");
  }
  return hottest;
}

// From energy counters, one for each package, which wrap around at max_energy_range_uj.
std::optional<double> TelemetryReader::power(double seconds) {
  std::map<Path, double> energy;
  std::optional<double> joules;
  for (const Path& package : entries(root_ / "sys/class/powercap")) {
    const std::string name = package.filename().string();
    // "intel-rapl:0" is a package; "intel-rapl:0:0" is a part of it, already counted.
    if (!name.starts_with("intel-rapl:") || std::ranges::count(name, ':') != 1) continue;
    const auto now = first_number(text_or_nothing(package / "energy_uj"));
    if (!now) continue;
    energy[package] = *now;
    const auto before = before_energy_.find(package);
    if (before == before_energy_.end()) continue;
    double used = *now - before->second;
    if (used < 0)
      used += first_number(text_or_nothing(package / "max_energy_range_uj")).value_or(0);
    if (used >= 0) joules = joules.value_or(0) + used / 1e6;
  }
  before_energy_ = std::move(energy);
  if (!joules || !before_seconds_ || !(seconds > *before_seconds_)) return std::nullopt;
  return *joules / (seconds - *before_seconds_);
}

TelemetrySample TelemetryReader::sample(double seconds) {
  TelemetrySample sample;
  const std::optional<Busy> machine = machine_busy();
  if (machine && before_machine_) {
    sample.machine_cpu_percent =
        percent(machine->busy - before_machine_->busy, machine->total - before_machine_->total);
  }
  Processes own = own_processes();
  if (!own.empty()) {
    double ticks = 0;
    int64_t pages = 0;
    for (const auto& [number, process] : own) {
      const auto before = before_.find(number);
      const bool known = before != before_.end() && before->second.started == process.started;
      ticks += std::max(0.0, process.ticks - (known ? before->second.ticks : 0));
      pages += process.resident_pages;
    }
    sample.resident_bytes = pages * ::sysconf(_SC_PAGESIZE);
    if (before_seconds_ && !before_.empty()) {
      sample.process_cpu_percent =
          percent(ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)),
                  (seconds - *before_seconds_) * static_cast<double>(cores_));
    }
  }
  sample.clock_mhz = clock_mhz();
  sample.temperature_celsius = temperature();
  sample.power_watts = power(seconds);
  const auto available = values_of(text_or_nothing(root_ / "proc/meminfo"), "MemAvailable:");
  if (!available.empty()) sample.available_bytes = static_cast<int64_t>(available[0]) * 1024;
  sample.load = first_number(text_or_nothing(root_ / "proc/loadavg"));
  before_seconds_ = seconds;
  before_machine_ = machine;
  before_ = std::move(own);
  return sample;
}

}  // namespace saddle
