// Text from outside, such as names of files, made safe for its readers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace saddle {

// The number of bytes of the UTF-8 character that begins at text[at] (Unicode, table 3-7); 0 if
// none does.
size_t character_bytes(std::string_view text, size_t at);

// The text with U+FFFD for each byte that is not part of a UTF-8 character (Unicode, table 3-7).
std::string utf8(std::string_view text);

// The text as part of one line on a terminal: control characters (C0, DEL and C1) and bytes that
// are not UTF-8 become \xNN, byte by byte.
std::string printable(std::string_view text);

// The same for several lines: each \n is kept.
std::string printable_lines(std::string_view text);

// The text with `replacement` for the login in each URL: the part between "://" and the last "@"
// before the next "/", "?", "#" or space. A user name alone is replaced too: it may be a token.
std::string without_logins(std::string_view text, std::string_view replacement = "***@");

}  // namespace saddle
