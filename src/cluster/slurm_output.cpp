#include "cluster/slurm_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

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

// Without std::regex, here and below: it uses stack space for each character.
bool are_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_cluster_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  });
}

// "17;cluster" or "Submitted batch job 17 on cluster NAME", both also without the cluster.
std::optional<SubmittedJob> submitted_job(std::string_view line) {
  constexpr std::string_view kWords = "Submitted batch job ";
  const bool words = line.starts_with(kWords);
  if (words) line.remove_prefix(kWords.size());
  const std::string_view between = words ? " on cluster " : ";";
  const size_t end = line.find(between);
  const std::string_view id = line.substr(0, end);
  if (!are_digits(id)) return std::nullopt;
  if (end == std::string_view::npos) return SubmittedJob{std::string(id), ""};
  const std::string_view cluster = line.substr(end + between.size());
  if (!is_cluster_name(cluster)) return std::nullopt;
  return SubmittedJob{std::string(id), std::string(cluster)};
}

bool is_exit_code(std::string_view text) {
  const size_t colon = text.find(':');
  return colon != std::string_view::npos && are_digits(text.substr(0, colon)) &&
         are_digits(text.substr(colon + 1));
}

// The fields of every line that has exactly `count` of them before its last part `end`. The lines
// that squeue prints about clusters ("CLUSTER: name") have none.
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

bool is_job_id(std::string_view text) {
  const size_t task = text.find('_');
  return are_digits(text.substr(0, task)) &&
         (task == std::string_view::npos || are_digits(text.substr(task + 1)));
}

std::optional<SubmittedJob> parse_sbatch(std::string_view output) {
  std::optional<SubmittedJob> job;
  for (const std::string& line : lines_of(output)) {
    std::optional<SubmittedJob> found = submitted_job(line);
    if (!found) continue;
    if (job) return std::nullopt;
    job = std::move(found);
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
  JobRows rows;
  for (auto& fields : whole_lines(output, 4, "")) {
    if (!is_job_id(fields[0]) || !is_exit_code(fields[2])) continue;
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
  size_t first = 2;                // the part before the first colon
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
  constexpr std::array<int64_t, 4> kUnits = {86400, 3600, 60, 1};
  int64_t seconds = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t more = 0;
    if (__builtin_mul_overflow(parts[i], kUnits[i], &more) ||
        __builtin_add_overflow(seconds, more, &seconds)) {
      return std::nullopt;
    }
  }
  return seconds;
}

std::string slurm_time(int64_t seconds) {
  const int64_t days = seconds / 86400;
  const std::string clock =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  return days == 0 ? clock : fmt::format("{}-{}", days, clock);
}

}  // namespace saddle::cluster
