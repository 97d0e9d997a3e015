#include "report/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/csv.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"

namespace saddle::report {
namespace {

std::string loss_text(double value) {
  return fmt::format("{:.4f}", value);
}

std::string perplexity_text(double value) {
  return value < 1e6 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

std::string rate_text(double value) {
  return value < 100 ? fmt::format("{:.1f}", value) : grouped(value);
}

std::string memory_text(double bytes) {
  constexpr double kMebibyte = kGibibyte / 1024;
  return bytes < kGibibyte ? fmt::format("{:.0f} MiB", bytes / kMebibyte)
                           : fmt::format("{:.2f} GiB", bytes / kGibibyte);
}

std::string distance_text(double value) {
  return fmt::format("{:.3g}", value);
}

const std::vector<Column> kColumns = {
    {"tokens", "tokens", "prediction targets trained on", [](const Run& run) { return run.tokens; },
     grouped},
    {"train_loss", "train loss",
     "of the last logged update, nats per token; for several workers the mean",
     [](const Run& run) { return run.train_loss; }, loss_text, true},
    {"subset_loss", "subset loss",
     "of the last evaluation of the fixed subset of the validation split, nats per token",
     [](const Run& run) { return run.subset_loss; }, loss_text, true},
    {"validation_loss", "validation loss",
     "of the whole validation split after the last update, nats per token",
     [](const Run& run) { return run.validation_loss; }, loss_text, true},
    {"perplexity", "perplexity", "exp(validation loss), or exp(subset loss) of an unfinished run",
     [](const Run& run) { return run.perplexity; }, perplexity_text, true},
    {"tokens_per_second", "tokens/s", "in training only",
     [](const Run& run) { return run.tokens_per_second; }, rate_text},
    {"elapsed_tokens_per_second", "tokens/s, all",
     "including evaluation and checkpoints since the first update",
     [](const Run& run) { return run.elapsed_tokens_per_second; }, rate_text},
    {"peak_memory_bytes", "peak memory", "largest resident set of the process",
     [](const Run& run) { return run.peak_memory_bytes; }, memory_text},
    {"seconds", "time", "in training, evaluation and checkpoints",
     [](const Run& run) { return run.seconds; }, human_duration},
    {"workers", "workers", "local models trained together",
     [](const Run& run) { return run.workers; }, grouped},
    {"consensus_distance", "consensus distance",
     "mean squared distance of the workers' weights from their average, last logged",
     [](const Run& run) { return run.consensus_distance; }, distance_text},
};

bool is_shown(const Column& column, const std::vector<Run>& runs) {
  const std::string_view key = column.key;
  if (key == "workers") {
    return std::ranges::any_of(runs, [](const Run& run) { return run.workers.value_or(1) > 1; });
  }
  if (key != "peak_memory_bytes" && key != "consensus_distance") return true;
  return std::ranges::any_of(runs, [&](const Run& run) { return column.value(run).has_value(); });
}

std::string number_field(const Number& value) {
  if (!value) return "";
  return std::isfinite(*value) ? csv_field(json_number(*value)) : "nan";
}

std::string notes_text(const Run& run) {
  return fmt::format("{}", fmt::join(run.notes, "; "));
}

Json whole(const Number& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  constexpr double kExact = 9e15;  // doubles below this hold every whole number
  const bool whole = std::abs(*value) < kExact && *value == std::floor(*value);
  return whole ? Json(static_cast<int64_t>(*value)) : Json(*value);
}

}  // namespace

std::vector<Column> columns(const std::vector<Run>& runs) {
  std::vector<Column> shown;
  for (const Column& column : kColumns) {
    if (is_shown(column, runs)) shown.push_back(column);
  }
  return shown;
}

std::string cell_text(const Column& column, const Run& run) {
  const Number value = column.value(run);
  if (!value) return "-";
  return std::isfinite(*value) ? column.text(*value) : "not finite";
}

std::string step_text(const Run& run) {
  if (!run.steps) return "-";
  return fmt::format("{} / {}", grouped(run.step.value_or(0)), grouped(*run.steps));
}

std::string grouped(double value) {
  const std::string digits = fmt::format("{:.0f}", std::abs(value));
  std::string text = value < 0 ? "-" : "";
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string terminal_table(const std::vector<Run>& runs) {
  const std::vector<Column> shown = columns(runs);
  TextTable table;
  std::vector<std::string> row = {"run", "state", "step"};
  for (const Column& column : shown) row.emplace_back(column.title);
  table.add(row);
  for (const Run& run : runs) {
    row = {run.name, std::string(name(run.status)), step_text(run)};
    for (const Column& column : shown) row.push_back(cell_text(column, run));
    table.add(row);
  }
  std::string text = table.text();
  for (const Run& run : runs) {
    if (!run.notes.empty()) {
      text += fmt::format("  {}: {}\n", printable(run.name), printable(notes_text(run)));
    }
  }
  return text;
}

std::string csv_text(const std::vector<Run>& runs) {
  std::string text = "run,state,step,steps";
  for (const Column& column : kColumns) text += fmt::format(",{}", column.key);
  text += ",directory,notes\n";
  for (const Run& run : runs) {
    text += fmt::format("{},{},{},{}", csv_field(run.name), name(run.status),
                        number_field(run.step), number_field(run.steps));
    for (const Column& column : kColumns) {
      text += fmt::format(",{}", number_field(column.value(run)));
    }
    text += fmt::format(",{},{}\n", csv_field(run.directory.string()), csv_field(notes_text(run)));
  }
  return text;
}

Json rows_json(const std::vector<Run>& runs) {
  Json rows = Json::array();
  for (const Run& run : runs) {
    Json row = {{"run", run.name},
                {"directory", run.directory.string()},
                {"state", std::string(name(run.status))},
                {"step", whole(run.step)},
                {"steps", whole(run.steps)}};
    for (const Column& column : kColumns) row[column.key] = whole(column.value(run));
    row["notes"] = Json::array();
    for (const std::string& note : run.notes) row["notes"].push_back(note);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace saddle::report
