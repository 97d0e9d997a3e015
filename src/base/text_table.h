// Tables for human readers.
#pragma once

#include <string>
#include <vector>

namespace saddle {

// Rows of cells: the first column is aligned left, the others right.
class TextTable {
 public:
  // `shortest`: the least width of a column.
  explicit TextTable(size_t shortest = 0) : shortest_(shortest) {}

  // Cells are escaped by printable().
  void add(const std::vector<std::string>& row);

  // Every line indented by two, without blanks at its end.
  std::string text() const;

 private:
  size_t shortest_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace saddle
