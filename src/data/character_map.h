// The table of replaced characters in a SentencePiece model (precompiled_charsmap).
#pragma once

#include <string>
#include <string_view>

namespace saddle::data {

// What is wrong with a nonempty table; empty if it is sound. SentencePiece 0.1.97 follows the
// numbers in it without checking that they stay within the table.
std::string character_map_fault(std::string_view map);

}  // namespace saddle::data
