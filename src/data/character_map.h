// The table of replaced characters in a SentencePiece model (precompiled_charsmap).
#pragma once

#include <string>
#include <string_view>

namespace saddle::data {

// What is wrong with a table that is not empty, or nothing. SentencePiece 0.1.97 follows the
// numbers in it without checking that they stay inside it.
std::string character_map_fault(std::string_view map);

}  // namespace saddle::data
