#include "backend/profile.h"

#include "base/error.h"

namespace saddle::backend {

void Profile::open(const char* group, const char* name, double operations, int64_t begin) {
  open_.push_back(regions_.size());
  regions_.push_back({.group = group,
                      .name = name,
                      .begin = begin,
                      .depth = static_cast<int64_t>(open_.size()) - 1,
                      .operations = operations});
}

void Profile::close(int64_t end) {
  if (open_.empty()) fail(ErrorKind::kInternal, "a region of a profile ends but never began");
  Region& region = regions_[open_.back()];
  open_.pop_back();
  region.end = end;
  region.self += end - region.begin;
  if (!open_.empty()) regions_[open_.back()].self -= end - region.begin;
}

void Profile::add_share(int thread, int64_t begin, int64_t end) {
  const char* name = open_.empty() ? "" : regions_[open_.back()].name;
  shares_[static_cast<size_t>(thread)].list.push_back({name, begin, end});
}

}  // namespace saddle::backend
