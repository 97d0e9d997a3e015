#include "base/exit_codes.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"

namespace saddle {
namespace {

TEST(ExitCodes, AreDistinctAndNoneIsACrashOrASignal) {
  std::set<int> codes;
  for (const ExitCode& row : exit_codes()) {
    EXPECT_TRUE(codes.insert(row.code).second) << row.name;
    EXPECT_GE(row.code, 0);
    EXPECT_LT(row.code, 126);  // shells use 126 and above for signals and missing programs
  }
  for (const ErrorKind kind :
       {ErrorKind::kUsage, ErrorKind::kConfig, ErrorKind::kData, ErrorKind::kIo,
        ErrorKind::kNumeric, ErrorKind::kDevice, ErrorKind::kInternal}) {
    EXPECT_TRUE(codes.contains(exit_code(kind)));
    EXPECT_NE(exit_code(kind), kExitSuccess);
  }
}

TEST(ExitCodes, TheTableInDocsMatchesTheCode) {
  std::istringstream page(read_file(Path(SADDLE_SOURCE_DIR) / "docs/exit-codes.md"));
  std::vector<std::pair<int, std::string>> documented;
  const std::regex row(R"(\| (\d+) \| (\w+) \| [^|]+ \| [^|]+ \|)");
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) documented.emplace_back(std::stoi(match[1]), match[2]);
  }
  std::vector<std::pair<int, std::string>> returned;
  for (const ExitCode& code : exit_codes()) returned.emplace_back(code.code, code.name);
  EXPECT_EQ(documented, returned);
}

TEST(ExitCodes, IdentifyTheKindOfError) {
  for (const ErrorKind kind : {ErrorKind::kUsage, ErrorKind::kConfig, ErrorKind::kData,
                               ErrorKind::kIo, ErrorKind::kNumeric, ErrorKind::kDevice}) {
    EXPECT_EQ(error_kind(exit_code(kind)), kind);
  }
  for (const int code : {70, 99, 139}) EXPECT_EQ(error_kind(code), ErrorKind::kInternal);
}

}  // namespace
}  // namespace saddle
