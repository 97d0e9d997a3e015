// Words that are too long for SentencePiece's trainers.
#pragma once

#include <cstdint>
#include <string>

namespace saddle::data {

// The BPE trainer of SentencePiece 0.1.97 keeps places in a word in 16 bits, one of them lost to a
// sign: a longer word makes it read other memory, or ends the program. The unigram trainer takes
// time and memory that grow faster than the word.
inline constexpr int64_t kMaxWordCharacters = 32'768;

// Removes the words of more than `most` characters from a line of training text, each with the
// spaces before it, and returns how many they were. The rest is trained on as if they had not been
// there.
//
// Words are those that SentencePiece makes of the text after its normalization (identity, a space
// in front): each begins with a run of spaces (U+0020 or U+2581), which counts, and ends before the
// next. Text without spaces, such as Chinese, is one word. A byte that is not UTF-8 is a character:
// U+FFFD takes its place.
int64_t remove_long_words(int64_t most, std::string* line);

}  // namespace saddle::data
