#include "structure/rules.h"

#include <cstdlib>
#include <regex>

namespace saddle::structure {
namespace {

bool lies_in(const Path& file, const Path& folder) {
  const Path relative = file.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

std::vector<Path> shell_scripts(const Path& root) {
  std::vector<Path> scripts = find_files(root, {"scripts"}, {".sh"});
  for (const Path& file : find_files(root, {".ci"})) scripts.push_back(file);
  return scripts;
}

// For a shell: in single quotes, with inner single quotes written as '\''.
std::string quoted(const Path& file) {
  // Appends because g++ 12 warns that "'" + a temporary string copies between overlapping memory.
  std::string text = "'";
  text += std::regex_replace(file.string(), std::regex("'"), R"('\'')");
  text += "'";
  return text;
}

}  // namespace

std::vector<std::string> find_long_files(const Path& root) {
  std::vector<std::string> found;
  for (const Path& file : find_files(root, {"src", "apps", "tests", "bench", "scripts"})) {
    if (lies_in(file, root / "tests/data")) continue;
    const auto lines = static_cast<int64_t>(read_lines(file).size());
    if (lines > kMaxLines) {
      found.push_back(place(root, file, lines) + "has " + std::to_string(lines) +
                      " lines, at most " + std::to_string(kMaxLines) + " are allowed");
    }
  }
  return found;
}

std::vector<std::string> find_memory_access(const Path& root) {
  // Also a call row(...) with two arguments or more: a worker's row as a Span, which reads and
  // writes memory. A row of another table has one argument.
  const std::regex call(R"((\.|->|::)\s*(device_data\s*(<[^>]*>)?\s*\(|)"
                        R"(row\s*\(([^(),]|\([^()]*\))*,))");
  std::vector<std::string> found;
  for (const Path& file : find_files(root, {"src", "apps"}, {".h", ".cpp"})) {
    if (lies_in(file, root / "src/tensor") || lies_in(file, root / "src/backend") ||
        lies_in(file, root / "src/ops")) {
      continue;
    }
    int64_t number = 0;
    for (const std::string& line : read_lines(file)) {
      ++number;
      if (std::regex_search(line, call)) {
        found.push_back(place(root, file, number) +
                        "device_data() and row() are only for src/tensor, src/backend and src/ops");
      }
    }
  }
  return found;
}

std::vector<std::string> find_bad_scripts(const Path& root) {
  std::vector<std::string> found;
  for (const Path& file : shell_scripts(root)) {
    const std::string command = "bash -n " + quoted(file);
    if (std::system(command.c_str()) != 0) {
      found.push_back(place(root, file, 1) + "bash -n does not accept it");
    }
  }
  return found;
}

std::vector<std::string> find_dead_links(const Path& root) {
  const std::regex link(R"(\]\(([^)\s#]+)(#[^)]*)?\))");
  const std::regex elsewhere("^[a-z]+:");
  std::vector<Path> pages = find_files(root, {"docs"}, {".md"});
  if (std::filesystem::exists(root / "README.md")) pages.push_back(root / "README.md");
  std::vector<std::string> found;
  for (const Path& page : pages) {
    int64_t number = 0;
    for (const std::string& line : read_lines(page)) {
      ++number;
      for (std::sregex_iterator at(line.begin(), line.end(), link), end; at != end; ++at) {
        const std::string target = (*at)[1];
        if (std::regex_search(target, elsewhere)) continue;
        if (!std::filesystem::exists(page.parent_path() / target)) {
          found.push_back(place(root, page, number) + "links to " + target +
                          ", which does not exist");
        }
      }
    }
  }
  return found;
}

}  // namespace saddle::structure
