#include "curvature/data_case_kind.h"

#include "base/error.h"

namespace saddle::curvature {

std::string_view data_case_name(DataCaseKind kind) {
  return kind == DataCaseKind::kSeen ? "seen" : "unseen";
}

DataCaseKind parse_data_case(std::string_view name) {
  for (const DataCaseKind kind : {DataCaseKind::kSeen, DataCaseKind::kUnseen}) {
    if (data_case_name(kind) == name) return kind;
  }
  fail(ErrorKind::kUsage, "there is no data case '{}': expected seen or unseen", name);
}

}  // namespace saddle::curvature
