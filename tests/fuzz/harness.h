// What the fuzz targets share. A target gives whatever bytes to a reader of what others wrote. The
// reader takes them, or refuses them by an Error of one line that is no fault of saddle: anything
// else ends the process, which is how a fuzzer learns of a fault.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"

namespace saddle::fuzz {

// A folder of the process for readers that only read files; removed at the end.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  const Path& directory() const { return directory_; }
  Path path(std::string_view name) const { return directory_ / name; }
  // Replaces the file in place and without flushing: nothing is lost with it.
  Path write(std::string_view name, std::string_view content) const;
  // Removes everything in it.
  void clear() const;

 private:
  Path directory_;
};

struct Target {
  std::string_view name;
  void (*run)(std::string_view bytes, Scratch& scratch);
};

// All of them, by name.
std::span<const Target> targets();
// Null when there is none.
const Target* find_target(std::string_view name);

// Ends the process with `what` on standard error when the condition does not hold.
void require(bool condition, std::string_view what);

// Whether the reader took its bytes; false when it refused them by such an Error.
bool accepts(const std::function<void()>& read);

// Bytes that stand for several files: what follows a line "@@ NAME" up to the next such line.
// What comes before the first one is ignored.
std::vector<std::pair<std::string, std::string_view>> files_in(std::string_view bytes);

}  // namespace saddle::fuzz
