#include "base/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace saddle {

void TextTable::add(const std::vector<std::string>& row) {
  rows_.emplace_back();
  for (const std::string& cell : row) rows_.back().push_back(printable(cell));
}

std::string TextTable::text() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), shortest_);
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? fmt::format("  {:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace saddle
