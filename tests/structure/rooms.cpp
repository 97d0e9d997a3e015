#include "structure/rooms.h"

#include <regex>
#include <sstream>
#include <stdexcept>

#include "structure/tree.h"

namespace saddle::structure {
namespace {

const std::regex kInclude(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");

std::string without_comments(const std::string& cmake_text) {
  return std::regex_replace(cmake_text, std::regex("#[^\n]*"), "");
}

std::string room_of(const std::string& name) {
  return name.substr(0, name.find('/'));
}

struct Include {
  std::string name;
  bool quoted;
};

// The include on a line, or an empty name.
Include include_on(const std::string& line) {
  std::smatch match;
  if (!std::regex_search(line, match, kInclude)) return {"", false};
  return {match[2], match[1] == "\""};
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool names_neighbour(const Path& file, const Include& include) {
  return include.quoted && std::filesystem::exists(file.parent_path() / include.name);
}

// The fault of an include, or nothing. Other names in quotes are generated headers.
std::string wrong_in_room(const std::string& room, const Path& file, const Include& include,
                          const Rooms& rooms) {
  const std::string target = room_of(include.name);
  if (include.name.find('/') != std::string::npos && rooms.contains(target)) {
    if (rooms.at(room).contains(target)) return "";
    return room + " may not include " + include.name + ", only " + listed(rooms.at(room));
  }
  if (!names_neighbour(file, include)) return "";
  return "includes \"" + include.name + "\", which does not begin with a room";
}

std::string wrong_in_apps(const Path& file, const Include& include, const Rooms& rooms) {
  if (!include.quoted || rooms.contains(room_of(include.name))) return "";
  if (names_neighbour(file, include)) return "";
  return "includes \"" + include.name + "\", which is neither in a room nor in the same folder";
}

}  // namespace

Rooms parse_rooms(const std::string& cmake_text) {
  const std::string text = without_comments(cmake_text);
  const std::regex call(R"(saddle_room\(([^)]*)\))");
  Rooms rooms;
  for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
    std::istringstream words((*at)[1]);
    std::string room;
    words >> room;
    std::set<std::string> allowed = {room};
    bool uses = false;
    for (std::string word; words >> word;) {
      if (word == "USES" || word == "LIBRARIES") {
        uses = word == "USES";
      } else if (uses) {
        const auto below = rooms.find(word);
        if (below == rooms.end()) {
          throw std::runtime_error("room " + room + " uses " + word +
                                   ", which is not declared above it");
        }
        allowed.insert(below->second.begin(), below->second.end());
      }
    }
    rooms[room] = allowed;
  }
  return rooms;
}

std::vector<std::string> find_wrong_includes(const Path& root, const Rooms& rooms) {
  std::vector<std::string> wrong;
  for (const Path& file :
       find_files(root, {"src", "apps"}, {".h", ".cpp", ".cu", ".cuh", ".inc"})) {
    const Path name = file.lexically_relative(root);
    const bool in_apps = *name.begin() == "apps";
    const std::string room = in_apps ? "" : (++name.begin())->string();
    if (!in_apps && !rooms.contains(room)) {
      wrong.push_back(name.string() + ":1: is in no room that CMakeLists.txt declares");
      continue;
    }
    int64_t number = 0;
    for (const std::string& line : read_lines(file)) {
      ++number;
      const Include include = include_on(line);
      if (include.name.empty()) continue;
      const std::string what =
          in_apps ? wrong_in_apps(file, include, rooms) : wrong_in_room(room, file, include, rooms);
      if (!what.empty()) wrong.push_back(place(root, file, number) + what);
    }
  }
  return wrong;
}

}  // namespace saddle::structure
