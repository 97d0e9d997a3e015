#include "bench/campaign.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/units.h"
#include "config/fields.h"
#include "config/load.h"

namespace saddle::bench {
namespace {

constexpr size_t kNameDigits = 16;  // of an identity's digest, in the names of files

// The fields of a record that a row shows.
constexpr const char* kShown[] = {"windows",
                                  "first_update_seconds",
                                  "warmup_seconds",
                                  "startup_seconds",
                                  "loss",
                                  "grad_norm",
                                  "peak_memory_bytes",
                                  "reserved_memory_bytes",
                                  "device_memory_bytes",
                                  "share_of_peak",
                                  "kernels"};

// Makes the directories before the lock inside them is taken.
Path lock_path(const Path& output) {
  make_directories(output / "logs");
  make_directories(output / "candidates");
  return output / "lock";
}

const CampaignOptions& checked(const CampaignOptions& options) {
  check_protocol(options.protocol);
  check_time_limit(options.time_limit_seconds);
  const double memory = options.memory_gib.value_or(1);
  if (!std::isfinite(memory) || !(memory > 0)) {
    fail(ErrorKind::kUsage, "--memory-gib is {}, but must be greater than 0", memory);
  }
  return options;
}

// Returns the settings that a candidate changes, with their new values.
Json changes(const config::Settings& given, const config::Settings& settings) {
  Json changed = Json::object();
  for (const config::Field& field : config::setting_fields()) {
    if (field.write(given) != field.write(settings)) changed[field.key()] = field.write(settings);
  }
  return changed;
}

bool is_rate(const Json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
}

// Returns why a record is not a measurement; empty if it is one.
std::string fault_of(const Json& record) {
  if (!record.is_object()) return "its record is not a JSON object";
  if (!is_rate(record.value("tokens_per_second", Json()))) {
    return "its record has no tokens_per_second above 0";
  }
  if (!record.value("loss", Json()).is_number()) return "its loss is not finite";
  if (!record.value("peak_memory_bytes", Json()).is_number()) {
    return "its record has no peak_memory_bytes";
  }
  return {};
}

}  // namespace

Campaign::Campaign(std::string kind, const config::Settings& given, CampaignOptions options,
                   Conditions conditions, CampaignTools tools, Log& log)
    : kind_(std::move(kind)),
      given_(given),
      options_(checked(options)),
      conditions_(std::move(conditions)),
      tools_(std::move(tools)),
      log_(log),
      lock_(lock_path(options_.output),
            fmt::format("benchmarking in '{}'", options_.output.string())) {
  if (!tools_.elapsed) tools_.elapsed = [watch = Stopwatch()] { return watch.seconds(); };
  for (const Path& directory : {options_.output, options_.output / "candidates"}) {
    remove_unfinished_files(directory);
  }
  if (options_.telemetry) telemetry_.emplace(options_.output / "telemetry.csv", log_);
}

size_t Campaign::add(const std::string& name, const std::string& stage,
                     const config::Settings& settings) {
  Json identity = measurement_identity(settings, options_.protocol, conditions_);
  const auto same = std::ranges::find(identities_, identity);
  if (same != identities_.end()) return static_cast<size_t>(same - identities_.begin());
  rows_.push_back({{"name", name},
                   {"stage", stage},
                   {"changes", changes(given_, settings)},
                   {"status", "waiting"},
                   {"identity", identity_digest(identity)}});
  settings_.push_back(settings);
  identities_.push_back(std::move(identity));
  return rows_.size() - 1;
}

void Campaign::leave_out(const std::string& name, const std::string& stage,
                         const std::string& reason) {
  left_out_.push_back({{"name", name}, {"stage", stage}, {"reason", reason}});
}

Path Campaign::candidate_file(size_t row, const char* ending) const {
  const std::string digest = rows_[row]["identity"];
  return options_.output / "candidates" / (digest.substr(0, kNameDigits) + ending);
}

// Returns the stored result of a row: {name, seconds, record}.
std::optional<Json> Campaign::stored(size_t row) const {
  const Path path = candidate_file(row, ".identity.json");
  if (!std::filesystem::exists(file_status(path))) return std::nullopt;
  try {
    Json result = read_json(path);
    if (result.at("identity") != identities_[row]) return std::nullopt;
    result["record"] = read_json(candidate_file(row, ".json"));
    if (!result.at("seconds").is_number() || !fault_of(result["record"]).empty()) {
      return std::nullopt;
    }
    return result;
  } catch (const std::exception&) {
    return std::nullopt;  // damaged: it is measured again
  }
}

bool Campaign::is_known(size_t row) const {
  return rows_[row]["status"] != "waiting" || stored(row).has_value();
}

void Campaign::take_record(size_t index, const Json& record, double seconds) {
  Json& row = rows_[index];
  row["tokens_per_second"] = record["tokens_per_second"];
  for (const char* key : kShown) {
    if (record.contains(key)) row[key] = record[key];
  }
  const double memory = options_.memory_gib ? *options_.memory_gib * kGibibyte
                                            : static_cast<double>(tools_.usable_memory());
  const double share = record["peak_memory_bytes"].get<double>() / memory;
  row["memory_share"] = share;
  row["status"] = share > kMemoryShare ? "over_memory" : "measured";
  if (share > kMemoryShare) {
    row["failure"] = fmt::format("{:.1f}% of {:.2f} GiB of memory, more than {:.0f}%", 100 * share,
                                 memory / kGibibyte, 100 * kMemoryShare);
  }
  row["seconds"] = seconds;
  row["record"] = Path("candidates") / candidate_file(index, ".json").filename();
}

bool Campaign::run(size_t index, double time_limit) {
  Json& row = rows_[index];
  if (row["status"] != "waiting") return true;
  const std::string name = row["name"];
  if (const auto result = stored(index)) {
    take_record(index, (*result)["record"], (*result)["seconds"]);
    row["reused"] = true;
    log_.info("{}: {:.0f} tokens/s, measured before", name, rate(index));
    write("running");
    return true;
  }
  if (tools_.stop() != 0) return false;
  write_progress("running", name);
  log_.progress(fmt::format("candidate {} of {}, {}", index + 1, rows_.size(), name));
  const CandidateRequest request{
      .name = name,
      .settings_file = candidate_file(index, ".yaml"),
      .record = candidate_file(index, ".json"),
      .protocol = options_.protocol,
      .time_limit_seconds = time_limit > 0 ? time_limit : options_.time_limit_seconds};
  write_file_atomically(request.settings_file, config::to_yaml(settings_[index]));
  std::filesystem::remove(request.record);
  CandidateEnd end = tools_.run(request, tools_.stop);
  // A candidate that fails while this process is asked to stop was asked to stop as well.
  const bool ended = end.kind == CandidateEnd::Kind::kMeasured || tools_.stop() == 0;
  if (!ended || end.kind == CandidateEnd::Kind::kStopped) return false;
  const Path log_file = Path("logs") / (name + ".log");
  write_file_atomically(options_.output / log_file, end.printed);
  row["log"] = log_file.string();
  row["reused"] = false;
  if (end.kind == CandidateEnd::Kind::kMeasured) {
    end.failure = end.record ? fault_of(*end.record) : "it wrote no record";
    if (!end.failure.empty()) end.kind = CandidateEnd::Kind::kFailed;
  }
  if (end.kind == CandidateEnd::Kind::kMeasured) {
    take_record(index, *end.record, end.seconds);
    write_json(candidate_file(index, ".identity.json"),
               {{"name", name}, {"seconds", end.seconds}, {"identity", identities_[index]}});
    log_.info("{}: {:.0f} tokens/s", name, rate(index));
  } else {
    const bool late = end.kind == CandidateEnd::Kind::kTimedOut;
    if (late && time_limit > 0 && time_limit != options_.time_limit_seconds) {
      end.failure += ", the rest of the budget";
    }
    row["status"] = late ? "timeout" : "failed";
    row["failure"] = end.failure;
    row["seconds"] = end.seconds;
    log_.warn("{} failed: {}", name, end.failure);
  }
  write("running");
  return true;
}

void Campaign::give_up(size_t row, const std::string& reason) {
  if (rows_[row]["status"] != "waiting") return;
  rows_[row]["status"] = "not_started";
  rows_[row]["failure"] = reason;
}

std::optional<size_t> Campaign::fastest(const std::vector<size_t>& rows) const {
  std::optional<size_t> best;
  for (const size_t row : rows) {
    if (measured(row) && (!best || rate(row) > rate(*best))) best = row;
  }
  return best;
}

std::vector<size_t> Campaign::all_rows() const {
  std::vector<size_t> rows;
  for (size_t row = 0; row < rows_.size(); ++row) rows.push_back(row);
  return rows;
}

double Campaign::longest_seconds() const {
  double longest = 0;
  for (const Json& row : rows_) {
    if (!row.contains("tokens_per_second")) continue;
    longest = std::max(longest, row["seconds"].get<double>());
  }
  return longest;
}

// Writes the settings of a row, for training; removes the file if there is no row.
void Campaign::write_choice(const char* name, const std::optional<size_t>& row,
                            const char* what) const {
  const Path path = options_.output / name;
  if (!row) {
    std::filesystem::remove(path);
    return;
  }
  const std::string text = fmt::format("# {} candidate in summary.json: {}, {:.0f} tokens/s.\n{}",
                                       what, rows_[*row]["name"].get<std::string>(), rate(*row),
                                       config::to_yaml(settings_[*row]));
  const bool there = std::filesystem::exists(file_status(path));
  if (!there || read_file(path) != text) write_file_atomically(path, text);
}

void Campaign::write_progress(const char* state, const Json& current) const {
  Json done = Json::array();
  int64_t waiting = 0;
  for (const Json& row : rows_) {
    waiting += row["status"] == "waiting" ? 1 : 0;
    done.push_back({{"name", row["name"]},
                    {"status", row["status"]},
                    {"tokens_per_second", row.value("tokens_per_second", Json())}});
  }
  write_json(options_.output / "progress.json",
             {{"state", state},
              {"current", current},
              {"done", rows_.size() - static_cast<size_t>(waiting)},
              {"known", rows_.size()},  // a tuner adds rows as it proceeds
              {"elapsed_seconds", elapsed()},
              {"updated", utc_timestamp()},
              {"candidates", done}});
}

Json Campaign::write(const char* state) const {
  const auto selected = fastest(all_rows());
  const auto name_of = [&](const std::optional<size_t>& row) {
    return row ? rows_[*row]["name"] : Json();
  };
  write_progress(state, nullptr);
  Json summary = {{"kind", kind_},
                  {"state", state},
                  {"protocol", to_json(options_.protocol)},
                  {"time_limit_seconds", options_.time_limit_seconds},
                  {"budget_seconds", budget_seconds_ ? Json(*budget_seconds_) : Json()},
                  {"memory_gib", options_.memory_gib ? Json(*options_.memory_gib) : Json()},
                  {"source_digest", conditions_.source_digest},
                  {"data_identity",
                   conditions_.data_identity.empty() ? Json() : Json(conditions_.data_identity)},
                  {"hardware", conditions_.hardware},
                  {"software", conditions_.software},
                  {"build", build_description()},
                  {"rows", rows_},
                  {"left_out", left_out_},
                  {"selected", name_of(selected)}};
  if (kind_ != "grid") {
    summary["decisions"] = decisions_;
    summary["recommended"] = name_of(recommended_);
  }
  write_json(options_.output / "summary.json", summary);
  write_choice("selected.yaml", selected, "The fastest");
  write_choice("recommended.yaml", recommended_, "The recommended");
  return summary;
}

}  // namespace saddle::bench
