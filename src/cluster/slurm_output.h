// Parses the output of Slurm commands strictly: an incomplete line is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saddle::cluster {

// 17, or 17_3 of a job array.
bool is_job_id(std::string_view text);

struct SubmittedJob {
  std::string id;
  std::string cluster;  // empty: the default cluster of the commands
};

// Parses `sbatch --parsable`: "17" or "17;cluster"; also the words that sbatch prints without the
// option. Nothing unless there is exactly one such line.
std::optional<SubmittedJob> parse_sbatch(std::string_view output);

struct JobRow {
  std::string id;  // 17, or 17_3 of a job array
  std::string name;
  std::string state;      // Slurm's word
  std::string reason;     // squeue: why it waits
  std::string exit_code;  // sacct: "CODE:SIGNAL"
};

// Complete rows only.
using JobRows = std::vector<JobRow>;

// For --format; the end of each line shows that it is complete.
inline constexpr const char* kSqueueFormat = "%i|%T|%j|%r|.";
JobRows parse_squeue(std::string_view output);

// For --format, with --parsable, under which every field ends with "|".
inline constexpr const char* kSacctFormat = "JobID,State,ExitCode,JobName";
JobRows parse_sacct(std::string_view output);

struct Partition {
  std::string name;
  bool standard = false;                 // the default for jobs that name none
  std::optional<int64_t> limit_seconds;  // nothing: no limit
};

inline constexpr const char* kSinfoFormat = "%P|%l|.";
std::vector<Partition> parse_sinfo(std::string_view output);

// Slurm's times: MM, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS. Nothing for any other text,
// and for more seconds than fit 63 bits.
std::optional<int64_t> parse_seconds(std::string_view text);
// D-HH:MM:SS or HH:MM:SS.
std::string slurm_time(int64_t seconds);

}  // namespace saddle::cluster
