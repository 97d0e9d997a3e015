#include "base/clock.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <ctime>

namespace saddle {

std::string utc_timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string human_duration(double seconds) {
  // Beyond a million years the number means nothing and would not fit an integer.
  if (!(seconds >= 0) || seconds > 3.2e13) return "n/a";
  // Each form begins where rounding would carry the previous one into its next unit.
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const auto minutes = static_cast<int64_t>(std::llround(seconds / 60));
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string human_count(double count) {
  if (!std::isfinite(count)) return "n/a";
  if (std::fabs(count) < 999.5) {
    const bool whole = count == std::round(count) || std::fabs(count) >= 99.95;
    return fmt::format("{:.{}f}", count, whole ? 0 : 1);
  }
  constexpr std::array kUnits = {'k', 'M', 'G', 'T'};
  size_t unit = 0;
  double scaled = count / 1000;
  while (std::fabs(scaled) >= 999.95 && unit + 1 < kUnits.size()) {
    scaled /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", scaled, kUnits[unit]);
}

}  // namespace saddle
