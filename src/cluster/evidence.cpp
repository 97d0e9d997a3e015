#include "cluster/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace saddle::cluster {
namespace {

// The last row of this job, and whether there are rows of another job with its id.
struct Found {
  const JobRow* row = nullptr;
  std::string other;  // the name of that job
};

Found find(const std::optional<JobRows>& rows, const std::string& id, const std::string& name) {
  Found found;
  if (!rows) return found;
  for (const JobRow& row : *rows) {
    if (row.id != id) continue;
    if (row.name == name) {
      found.row = &row;
    } else {
      found.other = row.name;
    }
  }
  return found;
}

Judgement of_queue(const JobRow& row) {
  Judgement judgement{state_of_slurm(row.state), "squeue", row.state, ""};
  if (judgement.state == JobState::kPending && row.reason != "None" && !row.reason.empty()) {
    judgement.detail += fmt::format(" ({})", row.reason);
  }
  return judgement;
}

Judgement of_accounting(const JobRow& row) {
  Judgement judgement{state_of_slurm(row.state), "sacct",
                      fmt::format("{} {}", row.state, row.exit_code), row.exit_code};
  if (judgement.state == JobState::kSucceeded && row.exit_code != "0:0") {
    judgement.state = JobState::kUnknown;  // it contradicts itself
  }
  return judgement;
}

Judgement of_note(const EndNote& note) {
  return {note.exit_code == 0 ? JobState::kSucceeded : JobState::kFailed, "note",
          fmt::format("its command ended with {}", note.exit_code),
          fmt::format("{}:0", note.exit_code)};
}

// The queue does not show it.
void add_exit_code(const JobRow* accounting, const EndNote* note, Judgement& judgement) {
  if (accounting != nullptr && state_of_slurm(accounting->state) == judgement.state) {
    judgement.exit_code = accounting->exit_code;
  } else if (note) {
    judgement.exit_code = fmt::format("{}:0", note->exit_code);
  }
  if (!judgement.exit_code.empty()) judgement.detail += " " + judgement.exit_code;
}

}  // namespace

std::optional<EndNote> parse_end_note(std::string_view text) {
  const size_t blank = std::min(text.find(' '), text.size());
  const std::string_view id = text.substr(0, blank), rest = text.substr(blank);
  if (!is_job_id(id) || rest.size() < 3 || rest.size() > 5) return std::nullopt;
  EndNote note{.id = std::string(id)};
  const char* const last = rest.data() + rest.size() - 1;
  const auto [end, code] = std::from_chars(rest.data() + 1, last, note.exit_code);
  if (code != std::errc() || end != last || note.exit_code < 0 || *last != '\n') {
    return std::nullopt;
  }
  return note;
}

Judgement judge(const std::string& id, const std::string& name, const Evidence& evidence) {
  const Found queue = find(evidence.queue, id, name);
  const Found accounting = find(evidence.accounting, id, name);
  const EndNote* note = evidence.note && evidence.note->id == id ? &*evidence.note : nullptr;
  std::string unclear;
  if (queue.row != nullptr) {
    Judgement judgement = of_queue(*queue.row);
    if (ended_in_failure(judgement.state)) add_exit_code(accounting.row, note, judgement);
    if (judgement.state != JobState::kUnknown) return judgement;
    unclear = fmt::format("squeue says {}", queue.row->state);
  }
  if (accounting.row != nullptr) {
    const Judgement judgement = of_accounting(*accounting.row);
    if (is_final(judgement.state)) return judgement;
    // While the queue does not answer, the accounting is the only source; if the queue answers and
    // has no such job, the accounting lags.
    if (judgement.state != JobState::kUnknown && !evidence.queue) return judgement;
    if (unclear.empty()) unclear = fmt::format("sacct says {}", judgement.detail);
  }
  if (note != nullptr && queue.row == nullptr) return of_note(*note);
  Judgement unknown;
  unknown.detail = unclear;
  for (const Found& found : {queue, accounting}) {
    if (unknown.detail.empty() && !found.other.empty()) {
      unknown.detail = fmt::format("the id now belongs to a job '{}'", found.other);
    }
  }
  if (unknown.detail.empty()) {
    unknown.detail =
        fmt::format("{}, {}", evidence.queue ? "not in the queue" : "squeue does not answer",
                    evidence.accounting ? "no accounting record" : "sacct does not answer");
  }
  return unknown;
}

}  // namespace saddle::cluster
