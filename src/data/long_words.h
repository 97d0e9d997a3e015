// Words that are too long for SentencePiece's trainers.
#pragma once

#include <cstdint>
#include <string>

namespace saddle::data {

// The BPE trainer of SentencePiece 0.1.97 stores positions in a word in 16 bits, one of them the
// sign: a longer word makes it read out of bounds or ends the program. The unigram trainer takes
// time and memory that grow faster than the word.
inline constexpr int64_t kMaxWordCharacters = 32'768;

// Removes the words of more than `most` characters from a line of training text, each with the
// spaces before it, and returns their number. Training on the rest gives what it would give if they
// had never been there.
//
// Words are those that SentencePiece makes of the text after its normalization (identity, a space
// in front): each begins with a run of spaces (U+0020 or U+2581), which count, and ends before the
// next run. Text without spaces, such as Chinese, is one word. A byte that is not UTF-8 counts as
// one character: U+FFFD takes its place.
int64_t remove_long_words(int64_t most, std::string* line);

}  // namespace saddle::data
