#include "bench/set_aside.h"

#include <algorithm>

namespace saddle::bench {

bool is_set_aside(std::string_view name) {
  const size_t at = name.rfind(kSetAside);
  if (at == std::string_view::npos) return false;
  std::string_view rest = name.substr(at + kSetAside.size());
  if (rest.empty()) return true;
  if (!rest.starts_with('-') || rest.size() == 1) return false;
  rest.remove_prefix(1);
  return std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace saddle::bench
