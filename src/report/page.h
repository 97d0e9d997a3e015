// The page of a report: one self-contained HTML file.
#pragma once

#include <string>
#include <vector>

#include "report/charts.h"
#include "report/settings_table.h"

namespace saddle::report {

struct PageContent {
  const std::vector<Run>& runs;
  const std::vector<Chart>& charts;
  const SettingsTable& settings;
  Path directory;             // of the page: links are relative to it
  std::vector<Path> figures;  // that were drawn
};

// It contains style and curves and loads nothing; without its script it only lacks the values under
// the pointer.
std::string page_html(const PageContent& content);

}  // namespace saddle::report
