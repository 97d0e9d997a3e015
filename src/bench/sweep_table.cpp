// The results of a sweep, for programs and for people.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/environment.h"
#include "base/text_table.h"
#include "bench/sweep.h"

namespace saddle::bench {
namespace {

constexpr std::array<std::string_view, 7> kNumbers = {
    "step",      "tokens",          "train_loss",       "subset_loss",
    "best_loss", "validation_loss", "tokens_per_second"};

Json at(const Json& row, std::string_view key) {
  return row.value(std::string(key), Json());
}

std::string loss_text(const Json& value) {
  return value.is_number() ? fmt::format("{:.4f}", value.get<double>()) : "-";
}

}  // namespace

Json sweep_summary(const SweepPlan& plan, const Json& rows) {
  Json grid = Json::object();
  for (const GridAxis& axis : plan.axes) grid[axis.key] = axis.values;
  return {{"grid", grid},
          {"identity", plan.identity},
          {"machine", machine_description()},
          {"build", build_description()},
          {"rows", rows}};
}

std::string sweep_csv(const Json& summary) {
  std::vector<std::string> line = {"name"};
  for (const auto& [key, values] : summary["grid"].items()) line.push_back(key);
  line.emplace_back("status");
  line.insert(line.end(), kNumbers.begin(), kNumbers.end());
  line.insert(line.end(), {"directory", "failure"});
  std::string text = fmt::format("{}\n", fmt::join(line, ","));
  for (const Json& row : summary["rows"]) {
    line = {csv_field(row["name"])};
    for (const auto& [key, values] : summary["grid"].items()) {
      line.push_back(csv_field(row["settings"][key]));
    }
    line.push_back(csv_field(row["status"]));
    for (const std::string_view key : kNumbers) line.push_back(csv_field(at(row, key)));
    line.push_back(csv_field(row["directory"]));
    line.push_back(csv_field(at(row, "failure")));
    text += fmt::format("{}\n", fmt::join(line, ","));
  }
  return text;
}

std::string sweep_table(const Json& summary) {
  TextTable table;
  std::vector<std::string> titles = {"run"};
  for (const auto& [key, values] : summary["grid"].items()) titles.push_back(key);
  titles.insert(titles.end(), {"train", "subset", "best", "validation", "tokens/s", "status", ""});
  table.add(titles);
  for (const Json& row : summary["rows"]) {
    std::vector<std::string> cells = {row["name"]};
    for (const auto& [key, values] : summary["grid"].items()) {
      cells.push_back(row["settings"][key]);
    }
    for (const char* key : {"train_loss", "subset_loss", "best_loss", "validation_loss"}) {
      cells.push_back(loss_text(at(row, key)));
    }
    const Json rate = at(row, "tokens_per_second");
    cells.push_back(rate.is_number() ? fmt::format("{:.0f}", rate.get<double>()) : "-");
    cells.push_back(row["status"]);
    cells.push_back(row.value("failure", ""));
    table.add(cells);
  }
  return table.text() + "  losses in nats; validation: of the whole split\n";
}

}  // namespace saddle::bench
