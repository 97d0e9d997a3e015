// The page of a report: one HTML file that needs nothing else.
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
  Path directory;             // where the page will lie: links are relative to it
  std::vector<Path> figures;  // that were drawn
};

// Style and curves are in it; it loads nothing, and without its script it only lacks the values
// under the pointer.
std::string page_html(const PageContent& content);

}  // namespace saddle::report
