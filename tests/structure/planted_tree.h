// A small source tree in a temporary directory, to test that each rule detects violations.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace saddle::structure {

class PlantedTree {
 public:
  PlantedTree() {
    std::string name =
        (std::filesystem::temp_directory_path() / "saddle-structure-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
    root_ = name;
  }
  ~PlantedTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  PlantedTree(const PlantedTree&) = delete;
  PlantedTree& operator=(const PlantedTree&) = delete;

  const std::filesystem::path& root() const { return root_; }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace saddle::structure
