// Text from outside, such as the names of files, in a form that its readers take.
#pragma once

#include <string>
#include <string_view>

namespace saddle {

// The text with U+FFFD for each byte that is not part of a UTF-8 character (Unicode, table 3-7).
std::string utf8(std::string_view text);

// The text as a part of one line on a terminal: its control characters (C0, DEL and C1) and bytes
// that are not UTF-8 become \xNN, byte by byte.
std::string printable(std::string_view text);

// The same for lines: each \n stays.
std::string printable_lines(std::string_view text);

}  // namespace saddle
