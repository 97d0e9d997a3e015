// The names of the two data cases (data_case.h).
#pragma once

#include <string_view>

namespace saddle::curvature {

enum class DataCaseKind { kSeen, kUnseen };

// "seen", "unseen"; parse_data_case() fails with kUsage.
std::string_view data_case_name(DataCaseKind kind);
DataCaseKind parse_data_case(std::string_view name);

}  // namespace saddle::curvature
