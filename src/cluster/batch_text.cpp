#include "cluster/batch_text.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cluster/slurm_output.h"

namespace saddle::cluster {
namespace {

constexpr const char* kWordCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%^";

void check_path(const Path& path, const char* what) {
  if (path.string().find_first_of("\n\r\"\\") != std::string::npos) {
    fail(ErrorKind::kUsage,
         "the {} {} has a character that a Slurm batch script cannot contain: a quote, a backslash "
         "or a line break",
         what, json_text(path.string()));
  }
}

std::string array_of(const JobDescription& job) {
  std::string list;
  for (const BatchTask& task : job.tasks) {
    list += fmt::format("{}{}", list.empty() ? "" : ",", task.index);
  }
  if (job.tasks_at_once > 0) list += fmt::format("%{}", job.tasks_at_once);
  return list;
}

// A word of an #SBATCH line, in quotes where Slurm would split it.
std::string directive(const std::string& option) {
  if (!option.empty() && option.find_first_of(" \t#'\"\\") == std::string::npos) return option;
  const size_t equals = option.find('=');
  const size_t begin = option.starts_with("--") && equals != std::string::npos ? equals + 1 : 0;
  std::string text = option.substr(0, begin) + "\"";
  for (const char c : option.substr(begin)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string command_lines(const BatchTask& task, const char* indent) {
  std::string words;
  for (const std::string& word : task.command) {
    words += fmt::format("{}{}", words.empty() ? "" : " ", shell_quoted(word));
  }
  return fmt::format("{0}command=({1})\n{0}end_note={2}\n", indent, words,
                     shell_quoted(task.end_note.string()));
}

std::string choice(const JobDescription& job) {
  if (!job.array) return command_lines(job.tasks[0], "");
  std::string text = "case \"$SLURM_ARRAY_TASK_ID\" in\n";
  for (const BatchTask& task : job.tasks) {
    text += fmt::format("  {})\n{}    ;;\n", task.index, command_lines(task, "    "));
  }
  return text +
         "  *)\n    note \"this array has no task $SLURM_ARRAY_TASK_ID\"\n    exit 1\n    "
         ";;\nesac\n";
}

}  // namespace

Path log_pattern(const Path& directory, bool array) {
  std::string escaped;
  for (const char c : directory.string())
    escaped += c == '%' ? std::string("%%") : std::string(1, c);
  return Path(escaped) / (array ? "slurm-%A_%a.log" : "slurm-%j.log");
}

Path log_file(const Path& pattern, const std::string& id) {
  const size_t line = id.find('_');
  const std::string text = pattern.string();
  std::string file;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '%' && i + 1 < text.size() ? text[i + 1] : '\0';
    if (next == '%') {
      file += '%';
    } else if (next == 'j') {
      file += id;
    } else if (next == 'A') {
      file += id.substr(0, line);
    } else if (next == 'a') {
      file += line == std::string::npos ? "" : id.substr(line + 1);
    } else {
      file += text[i];
      continue;
    }
    ++i;
  }
  return file;
}

std::string shell_quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of(kWordCharacters) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> own_options(const JobDescription& job) {
  if (job.tasks.empty() || (!job.array && job.tasks.size() != 1)) {
    fail(ErrorKind::kInternal, "a batch script of {} tasks", job.tasks.size());
  }
  check_path(job.log, "log");
  check_path(job.directory, "directory");
  std::vector<std::string> options = {"--job-name=" + job.name,
                                      "--output=" + job.log.string(),
                                      "--open-mode=append",
                                      "--chdir=" + job.directory.string(),
                                      "--nodes=1",
                                      "--ntasks=1"};
  if (job.wall_seconds > 0) options.push_back("--time=" + slurm_time(job.wall_seconds));
  if (job.array) options.push_back("--array=" + array_of(job));
  options.push_back(fmt::format("--signal=B:USR1@{}", job.site.signal_seconds));
  options.emplace_back("--requeue");
  return options;
}

std::string batch_text(const JobDescription& job) {
  std::string text = "#!/usr/bin/env bash\n";
  for (const std::string& option : site_options(job.site)) {
    text += fmt::format("#SBATCH {}\n", directive(option));
  }
  for (const std::string& option : own_options(job)) {
    text += fmt::format("#SBATCH {}\n", directive(option));
  }
  text +=
      "set -u\n\nnote() { printf '%s slurm: %s\\n' \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\" \"$*\"; "
      "}\n\n";
  text += choice(job);
  text += fmt::format("max_restarts={}\nsetup={}\n", job.site.max_restarts,
                      shell_quoted(job.site.setup));
  // A note left by an earlier start of this job would describe that start.
  text += "rm -f \"$end_note\"\n\n";
  text += kRunCommand;
  text +=
      "\n# Slurm may restart a job that it ended; then this was not its end.\n"
      "if $ended && ((code != 0)); then exit \"$code\"; fi\n"
      "id=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}\n"
      "printf '%s %s\\n' \"$id\" \"$code\" >\"$end_note.part\" && mv \"$end_note.part\" "
      "\"$end_note\"\n"
      "exit \"$code\"\n";
  return text;
}

}  // namespace saddle::cluster
