// The record of compare_runs as tables.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/text_table.h"
#include "train/compare_runs.h"

namespace saddle::train {
namespace {

constexpr size_t kShortest = 12;  // least width of a column

std::string plain(const Json& value) {
  return value.is_string() ? printable(value.get<std::string>()) : json_text(value);
}

std::string number(const Json& value, const char* format) {
  if (!value.is_number()) return "-";
  return fmt::format(fmt::runtime(format), value.get<double>());
}

std::string differences(const char* title, const Json& list) {
  if (list.empty()) return fmt::format("{}: none\n", title);
  std::string text = fmt::format("{}:\n", title);
  for (const Json& entry : list) {
    text +=
        fmt::format("  {}: {} | {}\n", plain(entry["key"]), plain(entry["a"]), plain(entry["b"]));
  }
  return text;
}

std::string data_text(const Json& data) {
  if (data["same"].is_null()) return "token cache: not known for at least one run\n";
  if (data["same"].get<bool>()) return "token cache: the same\n";
  return fmt::format("token cache: {} | {}\n", plain(data["a"]), plain(data["b"]));
}

std::string run_text(const char* name, const Json& run) {
  return fmt::format("{}  {}: {} updates, {} tokens, {}\n", name, plain(run["directory"]),
                     number(run["step"], "{:.0f}"), number(run["tokens"], "{:.0f}"),
                     run["finished"].get<bool>() ? "finished" : "not finished");
}

// The purpose of a matched pair.
std::string summary(const Json& record) {
  const Json& rates = record["throughput"];
  const Json& curve = record["losses"]["train_curve"];
  return fmt::format(
      "B / A in tokens per second: {} in training, {} with evaluation and checkpoints\n"
      "B - A in training loss: {} in update {}, at most {} over {} updates that both logged\n",
      number(rates["tokens_per_second"]["ratio"], "{:.3f}"),
      number(rates["elapsed_tokens_per_second"]["ratio"], "{:.3f}"),
      number(curve["first"]["difference"], "{:+.2e}"), number(curve["first"]["step"], "{:.0f}"),
      number(curve["largest_difference"], "{:.2e}"), plain(curve["updates"]));
}

void add_row(TextTable& table, const std::string& name, const Json& entry, const char* format,
             const char* last, const char* last_format) {
  table.add({name, number(entry["a"], format), number(entry["b"], format),
             number(entry[last], last_format)});
}

}  // namespace

std::string comparison_text(const Json& record) {
  const Json& found = record["differences"];
  std::string text = run_text("A", record["runs"]["a"]) + run_text("B", record["runs"]["b"]) + "\n";
  const Json& same = record["same_work"];
  text += same.is_null() ? "the settings that decide the numbers agree; whether the data agree is "
                           "unknown\n"
          : same.get<bool>()
              ? fmt::format("the runs differ in execution only: the same work, seed {} and order\n",
                            plain(record["seed"]["a"]))
              : "the runs do not do the same work\n";
  text += summary(record);
  text += differences("settings that change numbers (A | B)", found["numbers"]);
  text += data_text(found["data"]);
  text += differences("execution settings (A | B)", found["execution"]);
  text += differences("program (A | B)", found["source"]);
  text += differences("libraries (A | B)", found["libraries"]);
  text += differences("machine (A | B)", found["machine"]);

  const Json& rates = record["throughput"];
  TextTable speed(kShortest);
  speed.add({"tokens per second", "A", "B", "B / A"});
  const auto rate = [&](const char* name, const char* key) {
    add_row(speed, name, rates[key], "{:.1f}", "ratio", "{:.3f}");
  };
  rate("training, median", "tokens_per_second_median");
  rate("training, whole", "tokens_per_second");
  rate("with evaluation", "elapsed_tokens_per_second");
  rate("evaluation", "evaluation_tokens_per_second");
  for (const auto& [part, entry] : record["seconds"].items()) {
    add_row(speed, "seconds: " + part, entry, "{:.3f}", "ratio", "{:.3f}");
  }
  Json mebibytes = record["peak_memory_bytes"];
  for (const char* run : {"a", "b"}) {
    if (mebibytes[run].is_number()) mebibytes[run] = mebibytes[run].get<double>() / (1 << 20);
  }
  add_row(speed, "peak memory, MiB", mebibytes, "{:.1f}", "ratio", "{:.3f}");

  TextTable losses(kShortest);
  losses.add({"loss, nats", "A", "B", "B - A"});
  const auto loss = [&](const char* name, const char* key) {
    add_row(losses, name, record["losses"][key], "{:.6f}", "difference", "{:+.2e}");
  };
  loss("training, last", "train");
  loss("subset, last", "subset");
  loss("subset, best", "best");
  loss("validation", "validation");
  return text + "\n" + speed.text() + "\n" + losses.text();
}

}  // namespace saddle::train
