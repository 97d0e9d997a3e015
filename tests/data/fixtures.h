// Small documents and a small tokenizer, made when a test needs them.
#pragma once

#include <zlib.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/random.h"
#include "data/tokenizer.h"

namespace saddle::data {

inline void write_bytes(const Path& path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream) throw std::runtime_error("cannot write " + path.string());
}

inline std::string read_bytes(const Path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// One gzip member.
inline std::string gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Sentences of a few dozen different words.
inline std::string some_text(uint64_t seed, int64_t words) {
  constexpr std::array<std::string_view, 24> kWords = {
      "river", "stone", "light", "under", "walked", "slowly", "and",  "the",
      "of",    "a",     "house", "green", "1987",   "said",   "she",  "maybe",
      "café",  "it",    "grows", "were",  "their",  "away,",  "old.", "—"};
  const RandomStream random(seed, RandomPurpose::kTest, 7);
  std::string text;
  for (int64_t i = 0; i < words; ++i) {
    if (i > 0) text += i % 13 == 0 ? "\n" : " ";
    text += kWords[random.below(static_cast<uint64_t>(i), kWords.size())];
  }
  return text;
}

// A line {"text": ...} for each text.
inline std::string json_lines(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) {
    lines += Json({{"text", text}, {"url", "https://example.org"}}).dump() + "\n";
  }
  return lines;
}

inline std::vector<std::string> some_documents(uint64_t seed, int64_t count) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < count; ++i) {
    texts.push_back(some_text(seed * 100000 + static_cast<uint64_t>(i), 5 + (i * 7) % 60));
  }
  return texts;
}

inline constexpr int64_t kTinyVocabulary = 330;

// Trains a tokenizer of kTinyVocabulary pieces into `directory`.
inline Path make_tokenizer(const Path& directory) {
  write_bytes(directory / "tokenizer_text.txt", some_text(1, 4000));
  TokenizerTrainingOptions options;
  options.inputs = {directory / "tokenizer_text.txt"};
  options.model_file = directory / "tiny.model";
  options.vocab_size = kTinyVocabulary;
  Log log = Log::silent();
  train_tokenizer(options, &log);
  return options.model_file;
}

}  // namespace saddle::data
