// Everything that decides the numbers of an analysis, as a flat object: a directory of results
// holds cases of one such identity.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "base/json.h"
#include "config/settings.h"

namespace saddle::analysis {

// A direction given by the user, by name and content.
struct DirectionIdentity {
  std::string name;
  std::string sha256;
};

// The program (source.*), the measurement (analysis.*), and the recipe of the run with the identity
// of the token cache and the number of workers, under their names in the recipe. Threads, memory
// and the machine are not part of it: as in training, they may change rounding. A program built
// from a changed or unknown tree is identified by the SHA-256 of its file, because its revision
// does not identify it.
Json analysis_identity(const AnalysisOptions& options, const config::Settings& run,
                       const std::string& data_identity, int64_t workers,
                       const std::vector<DirectionIdentity>& directions);

// Error: kConfig, naming every field in which `found`, from the file `where`, differs from
// `expected`, with both values.
void check_same_identity(const Json& expected, const Json& found, std::string_view where);

}  // namespace saddle::analysis
