#include "data/long_words.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace saddle::data {

namespace {

// The bytes of the space that begins at text[at]; 0 when none does.
size_t space_bytes(std::string_view text, size_t at) {
  constexpr std::string_view kVisibleSpace = "\u2581";
  if (text[at] == ' ') return 1;
  return text.substr(at).starts_with(kVisibleSpace) ? kVisibleSpace.size() : 0;
}

}  // namespace

int64_t remove_long_words(int64_t most, std::string* line) {
  // Most lines are short: no word has more characters than the line has bytes, plus the space.
  if (static_cast<int64_t>(line->size()) < most) return 0;
  const std::string text = " " + *line;
  std::string kept;
  int64_t removed = 0;
  int64_t characters = 0;  // of the word that begins at `begin`
  size_t begin = 0;
  const auto end_word = [&](size_t end) {
    if (characters > most) {
      ++removed;
    } else {
      kept.append(text, begin, end - begin);
    }
    begin = end;
    characters = 0;
  };
  bool in_spaces = true;
  for (size_t i = 0; i < text.size();) {
    const bool space = space_bytes(text, i) > 0;
    if (space && !in_spaces) end_word(i);
    in_spaces = space;
    ++characters;
    i += std::max<size_t>(character_bytes(text, i), 1);
  }
  end_word(text.size());
  if (removed == 0) return 0;
  // SentencePiece puts a space in front again.
  if (!kept.empty()) kept.erase(0, space_bytes(kept, 0));
  *line = std::move(kept);
  return removed;
}

}  // namespace saddle::data
