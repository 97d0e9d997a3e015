// A run, finished or not, as recorded by the files in its directory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "config/settings.h"

namespace saddle::train {

struct RunRecord {
  Path directory;
  config::Settings settings;
  Json environment;                          // environment.json, or null
  std::vector<Json> updates, evaluations;    // lines of metrics.jsonl
  Json validation;                           // its line, or null
  Json result;                               // result.json, or null
  std::optional<std::string> data_identity;  // of the token cache
};

// Reads resolved.yaml and those of the other files that exist. The identity of the token cache
// comes from environment.json or a weight file. Ignores a last line of metrics that a killed run
// left unfinished. Errors: kIo without resolved.yaml; kConfig and kData for damaged files.
RunRecord read_run(const Path& directory);

// The value at a path of keys, or null.
Json json_at(const Json& json, const std::vector<const char*>& keys);
// The value of a key in the last line, or null.
Json last_value(const std::vector<Json>& lines, const char* key);

// From result.json, else from the logged updates; null if neither has it. Rates are tokens per
// second of training alone, or with evaluation and checkpoints (elapsed).
Json steps_done(const RunRecord& run);
Json tokens_done(const RunRecord& run);
Json training_rate(const RunRecord& run);
Json elapsed_rate(const RunRecord& run);

}  // namespace saddle::train
