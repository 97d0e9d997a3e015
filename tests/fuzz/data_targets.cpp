// Token caches, documents and tokenizers.
#include <fmt/format.h>
#include <zlib.h>

#include <memory>

#include "base/text.h"
#include "data/cache.h"
#include "data/documents.h"
#include "data/gzip_file.h"
#include "data/sentencepiece_model.h"
#include "data/tokenizer.h"
#include "data/tokenizer_json.h"
#include "fuzz/targets.h"

namespace saddle::fuzz {
namespace {

std::string gzipped(std::string_view text) {
  z_stream stream{};
  require(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib cannot start to compress");
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib cannot compress");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// The lines of the file, each with a newline.
std::string all_lines(const Path& path) {
  data::LineReader reader(path);
  std::string text, line;
  while (reader.next(&line)) text += line + "\n";
  return text;
}

// The texts of the documents, and whether they were accepted.
std::string all_documents(const Path& path) {
  data::DocumentReader reader(std::vector<Path>{path});
  std::string texts;
  const bool taken = accepts([&] {
    while (const auto text = reader.next()) {
      require(!text->empty() && utf8(*text) == *text, "a text is empty or not UTF-8");
      texts += *text + "\n";
    }
  });
  return fmt::format("{} {} {}", taken, reader.state().documents, texts);
}

}  // namespace

void manifest(std::string_view bytes, Scratch& scratch) {
  const Path path = scratch.write("manifest.json", bytes);
  accepts([&] { data::read_manifest(path); });
  // A changed manifest has another identity: with the right one the other checks are reached.
  data::CacheManifest manifest;
  const bool taken = accepts([&] {
    Json json = parse_json(bytes, "the text");
    if (json.is_object()) json["identity"] = data::manifest_identity(json);
    manifest = data::manifest_from_json(json, path);
  });
  if (!taken) return;
  const std::string written = data::manifest_to_json(manifest).dump();
  data::CacheManifest again = data::manifest_from_json(parse_json(written, "written"), "written");
  again.identity = manifest.identity;  // of a text that may hold more than is read
  require(again == manifest, "a manifest does not read back as it was written");
}

// The first byte gives the type of the rest: '0' plain lines, '1' the bytes of a gzip file, '2'
// lines that are compressed here.
void documents(std::string_view bytes, Scratch& scratch) {
  if (bytes.empty()) return;
  const std::string_view rest = bytes.substr(1);
  if (bytes[0] == '1') {
    const Path packed = scratch.write("a.jsonl.gz", rest);
    const bool taken = accepts([&] { all_lines(packed); });
    require(data::gzip_fault(packed).empty() == taken, "a check of gzip data and a reader differ");
    require(!taken || data::gzip_beginning_fault(packed).empty(), "gzip data begins otherwise");
    all_documents(packed);
    return;
  }
  const Path plain = scratch.write("a.jsonl", rest);
  const std::string lines = all_lines(plain);
  require(lines == rest || (lines.size() == rest.size() + 1 && lines.starts_with(rest)),
          "the lines of a file are not its text");
  const std::string texts = all_documents(plain);
  if (bytes[0] != '2') return;
  const Path packed = scratch.write("a.jsonl.gz", gzipped(rest));
  require(all_lines(packed) == lines && all_documents(packed) == texts,
          "a compressed file reads differently from a plain one");
}

void tokenizer(std::string_view bytes, Scratch& scratch) {
  const Path path = scratch.write("tokenizer.model", bytes);
  accepts([&] {
    const data::Tokenizer tokenizer(path);
    const auto ids = tokenizer.encode("Saddle points: 12 of 34, \xC3\xA9\xE2\x82\xAC.\n");
    for (const uint16_t id : ids) require(id < tokenizer.vocab_size(), "an id has no piece");
    tokenizer.decode(ids);
    tokenizer.piece(tokenizer.eos_id());
    // As an export reads it.
    const auto model = data::read_sentencepiece_model(bytes, "tokenizer.model");
    require(static_cast<int64_t>(model.pieces.size()) == tokenizer.vocab_size(),
            "a model has another number of pieces for an export");
    if (!data::without_tokenizer_json(model)) {
      parse_json(json_text(data::tokenizer_json(model)), "tokenizer.json");
    }
  });
}

}  // namespace saddle::fuzz
