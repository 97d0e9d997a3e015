// The rooms of the library, as CMakeLists.txt declares them, and the includes they may have.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace saddle::structure {

using Path = std::filesystem::path;

// room -> the rooms that it may include: itself and those it uses, directly or through others.
using Rooms = std::map<std::string, std::set<std::string>>;

// Reads the lines "saddle_room(NAME [USES room...] [LIBRARIES target...])" of a CMake file's text.
// Throws std::runtime_error if a room uses one that is not declared above it.
Rooms parse_rooms(const std::string& cmake_text);

// One message "file:line: ..." for every forbidden include in the tree under `root`:
//   - a file of src/ROOM may include "room/..." of the rooms that ROOM may include, and must not
//     include a file in its own folder by another name (generated headers are not in that folder);
//   - a file of apps may include every room, and in quotes its neighbours in the same folder.
// Files are named relative to `root`.
std::vector<std::string> find_wrong_includes(const Path& root, const Rooms& rooms);

}  // namespace saddle::structure
