#include "train/metrics.h"

#include <filesystem>
#include <sstream>
#include <string>

#include "base/error.h"

namespace saddle::train {
namespace {

// Whether a line was in the file when the run was at `state`.
bool written_before(const Json& line, const RunState& state) {
  const std::string type = line.at("type").get<std::string>();
  if (type == kTrainLine || type == kWorkersLine)
    return json_integer(line.at("step")) <= state.step;
  if (type == kEvaluationLine) return json_integer(line.at("epoch")) <= state.evaluated_epochs;
  return false;  // the validation at the end is done again
}

}  // namespace

void cut_metrics(const Path& path, const RunState& state, Log& log) {
  if (!std::filesystem::exists(file_status(path))) return;
  std::istringstream lines(read_file(path));
  std::string kept;
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const Json json = Json::parse(line, nullptr, false);
    try {
      if (written_before(json, state)) kept += line + "\n";
    } catch (const Json::exception&) {
      log.warn("{}:{}: dropping a line that is not a metrics record", path.string(), number);
    }
  }
  write_file_atomically(path, kept);
}

void MetricsFile::append(const Json& line) {
  file_.write(line.dump() + "\n");
}

}  // namespace saddle::train
