// Text from outside, such as the names of files, in a form that its readers take.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace saddle {

// The bytes of the UTF-8 character that begins at text[at] (Unicode, table 3-7); 0 when none does.
size_t character_bytes(std::string_view text, size_t at);

// The text with U+FFFD for each byte that is not part of a UTF-8 character (Unicode, table 3-7).
std::string utf8(std::string_view text);

// The text as a part of one line on a terminal: its control characters (C0, DEL and C1) and bytes
// that are not UTF-8 become \xNN, byte by byte.
std::string printable(std::string_view text);

// The same for lines: each \n stays.
std::string printable_lines(std::string_view text);

// The text with `replacement` for the login in each URL: what stands between "://" and the last "@"
// before the next "/", "?", "#" or space. A user name alone goes too: it may be a token.
std::string without_logins(std::string_view text, std::string_view replacement = "***@");

}  // namespace saddle
