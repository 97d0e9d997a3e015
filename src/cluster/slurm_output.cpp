#include "cluster/slurm_output.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <regex>

namespace saddle::cluster {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string& line : split(text, '\n')) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    lines.push_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
  }
  return lines;
}

bool is_job_id(const std::string& text) {
  return std::regex_match(text, std::regex("[0-9]+(_[0-9]+)?"));
}

// The fields of every line that has exactly `count` of them before its last part `end`. What
// squeue prints of clusters ("CLUSTER: name") has none.
std::vector<std::vector<std::string>> whole_lines(std::string_view output, size_t count,
                                                  std::string_view end) {
  std::vector<std::vector<std::string>> lines;
  for (const std::string& line : lines_of(output)) {
    std::vector<std::string> fields = split(line, '|');
    if (fields.size() == count + 1 && fields.back() == end) lines.push_back(std::move(fields));
  }
  return lines;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<SubmittedJob> parse_sbatch(std::string_view output) {
  const std::regex parsable("([0-9]+)(;([A-Za-z0-9_.-]+))?");
  const std::regex words("Submitted batch job ([0-9]+)( on cluster ([A-Za-z0-9_.-]+))?");
  std::optional<SubmittedJob> job;
  for (const std::string& line : lines_of(output)) {
    std::smatch found;
    if (!std::regex_match(line, found, parsable) && !std::regex_match(line, found, words)) continue;
    if (job) return std::nullopt;
    job = SubmittedJob{found[1], found[3]};
  }
  return job;
}

JobRows parse_squeue(std::string_view output) {
  JobRows rows;
  for (auto& fields : whole_lines(output, 4, ".")) {
    if (is_job_id(fields[0])) rows.push_back({fields[0], fields[2], fields[1], fields[3], ""});
  }
  return rows;
}

JobRows parse_sacct(std::string_view output) {
  const std::regex exit_code("[0-9]+:[0-9]+");
  JobRows rows;
  for (auto& fields : whole_lines(output, 4, "")) {
    if (!is_job_id(fields[0]) || !std::regex_match(fields[2], exit_code)) continue;
    rows.push_back({fields[0], fields[3], fields[1], "", fields[2]});
  }
  return rows;
}

std::vector<Partition> parse_sinfo(std::string_view output) {
  std::vector<Partition> partitions;
  for (auto& fields : whole_lines(output, 2, ".")) {
    Partition partition{fields[0], fields[0].ends_with('*'), parse_seconds(fields[1])};
    if (partition.standard) partition.name.pop_back();
    partitions.push_back(partition);
  }
  return partitions;
}

std::optional<int64_t> parse_seconds(std::string_view text) {
  std::array<int64_t, 4> parts{};  // days, hours, minutes, seconds
  size_t first = 2;                // of what stands before the first colon
  std::string_view clock = text;
  const size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto days = number(text.substr(0, dash));
    if (!days) return std::nullopt;
    parts[0] = *days;
    clock = text.substr(dash + 1);
    first = 1;
  }
  const std::vector<std::string> fields = split(clock, ':');
  if (dash == std::string_view::npos && fields.size() == 3) first = 1;
  if (fields.size() > parts.size() - first) return std::nullopt;
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto value = number(fields[i]);
    if (!value) return std::nullopt;
    parts[first + i] = *value;
  }
  return ((parts[0] * 24 + parts[1]) * 60 + parts[2]) * 60 + parts[3];
}

std::string slurm_time(int64_t seconds) {
  const int64_t days = seconds / 86400;
  const std::string clock =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  return days == 0 ? clock : fmt::format("{}-{}", days, clock);
}

}  // namespace saddle::cluster
