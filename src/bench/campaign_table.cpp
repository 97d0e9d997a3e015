#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text_table.h"
#include "bench/campaign.h"

namespace saddle::bench {
namespace {

std::string number(const Json& row, const char* key, const char* format, double scale = 1) {
  const Json value = row.value(key, Json());
  if (!value.is_number()) return "-";
  return fmt::format(fmt::runtime(format), scale * value.get<double>());
}

// The slowest and the fastest window.
std::string range(const Json& row) {
  std::vector<double> rates;
  for (const Json& window : row.value("windows", Json::array())) {
    if (window["tokens_per_second"].is_number()) rates.push_back(window["tokens_per_second"]);
  }
  if (rates.empty()) return "-";
  const auto [low, high] = std::ranges::minmax(rates);
  return fmt::format("{:.0f} - {:.0f}", low, high);
}

std::string status(const Json& row) {
  std::string text = row["status"];
  if (row.value("reused", false)) text += ", reused";
  return text;
}

}  // namespace

std::string campaign_table(const Json& summary) {
  TextTable table;
  table.add({"candidate", "tokens/s", "windows", "of peak", "first update s", "peak GB",
             "of memory", "status", ""});
  for (const Json& row : summary["rows"]) {
    table.add({row["name"], number(row, "tokens_per_second", "{:.0f}"), range(row),
               number(row, "share_of_peak", "{:.1f}%", 100),
               number(row, "first_update_seconds", "{:.2f}"),
               number(row, "peak_memory_bytes", "{:.2f}", 1e-9),
               number(row, "memory_share", "{:.1f}%", 100), status(row), row.value("failure", "")});
  }
  std::string text = table.text();
  for (const Json& decision : summary.value("decisions", Json::array())) {
    const std::string fastest =
        decision["fastest"].is_null() ? "nothing" : decision["fastest"].get<std::string>();
    const std::string gain =
        decision["gain"].is_number()
            ? fmt::format(", {:+.1f}% against {}", 100 * decision["gain"].get<double>(),
                          decision["base"].get<std::string>())
            : "";
    text += fmt::format("  {}: {}{}: {}\n", decision["stage"].get<std::string>(), fastest, gain,
                        decision["kept"].get<bool>() ? "kept" : "not kept");
  }
  for (const char* choice : {"selected", "recommended"}) {
    if (!summary.contains(choice)) continue;
    text += fmt::format("  {}: {}\n", choice,
                        summary[choice].is_null() ? "none" : summary[choice].get<std::string>());
  }
  return text;
}

}  // namespace saddle::bench
