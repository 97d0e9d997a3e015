#include "data/sentencepiece_model.h"

#include <bit>
#include <cstdint>

#include "base/error.h"

namespace saddle::data {
namespace {

// The fields of one message of Protocol Buffers' wire format (protobuf.dev, "Encoding").
class WireFields {
 public:
  WireFields(std::string_view bytes, std::string_view where) : rest_(bytes), where_(where) {}

  // Steps to the next field; false after the last one.
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    number_ = key >> 3;
    type_ = key & 7;
    switch (type_) {
      case kVarint:
        integer_ = varint();
        break;
      case kFixed64:
        integer_ = fixed(8);
        break;
      case kBytes:
        bytes_ = take(varint());
        break;
      case kFixed32:
        integer_ = fixed(4);
        break;
      default:
        damaged();
    }
    return true;
  }

  uint64_t number() const { return number_; }
  uint64_t integer() const { return expect(kVarint), integer_; }
  bool flag() const { return integer() != 0; }
  std::string_view bytes() const { return expect(kBytes), bytes_; }
  float real() const {
    expect(kFixed32);
    return std::bit_cast<float>(static_cast<uint32_t>(integer_));
  }
  WireFields message() const { return {bytes(), where_}; }

  [[noreturn]] void damaged() const {
    fail(ErrorKind::kData, "{}: expected a SentencePiece model, found damaged fields", where_);
  }

 private:
  enum : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  void expect(uint64_t type) const {
    if (type_ != type) damaged();
  }
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) damaged();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  uint64_t fixed(int count) {  // little-endian
    uint64_t value = 0;
    int shift = 0;
    for (const char byte : take(count)) {
      value |= static_cast<uint64_t>(static_cast<uint8_t>(byte)) << shift;
      shift += 8;
    }
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    damaged();
  }

  std::string_view rest_, where_, bytes_;
  uint64_t number_ = 0, type_ = 0, integer_ = 0;
};

template <class Enum>
Enum checked(const WireFields& fields, Enum last) {
  const uint64_t value = fields.integer();
  if (value < 1 || value > static_cast<uint64_t>(last)) fields.damaged();
  return static_cast<Enum>(value);
}

SentencePieceModel::Piece read_piece(WireFields fields) {
  SentencePieceModel::Piece piece;
  while (fields.next()) {
    switch (fields.number()) {
      case 1:
        piece.text = fields.bytes();
        break;
      case 2:
        piece.score = fields.real();
        break;
      case 3:
        piece.type = checked(fields, SentencePieceModel::PieceType::kByte);
        break;
      default:
        break;
    }
  }
  return piece;
}

void read_trainer(WireFields fields, SentencePieceModel& model) {
  while (fields.next()) {
    switch (fields.number()) {
      case 3:
        model.kind = checked(fields, SentencePieceModel::Kind::kChar);
        break;
      case 24:
        model.treat_whitespace_as_suffix = fields.flag();
        break;
      case 35:
        model.byte_fallback = fields.flag();
        break;
      default:
        break;
    }
  }
}

void read_normalizer(WireFields fields, SentencePieceModel& model) {
  while (fields.next()) {
    switch (fields.number()) {
      case 2:
        model.precompiled_charsmap = fields.bytes();
        break;
      case 3:
        model.add_dummy_prefix = fields.flag();
        break;
      case 4:
        model.remove_extra_whitespaces = fields.flag();
        break;
      case 5:
        model.escape_whitespaces = fields.flag();
        break;
      default:
        break;
    }
  }
}

void read_denormalizer(WireFields fields, SentencePieceModel& model) {
  while (fields.next()) {
    if (fields.number() == 2) model.decoding_charsmap = fields.bytes();
  }
}

}  // namespace

SentencePieceModel read_sentencepiece_model(std::string_view bytes, std::string_view where) {
  SentencePieceModel model;
  WireFields fields(bytes, where);
  while (fields.next()) {
    switch (fields.number()) {
      case 1:
        model.pieces.push_back(read_piece(fields.message()));
        break;
      case 2:
        read_trainer(fields.message(), model);
        break;
      case 3:
        read_normalizer(fields.message(), model);
        break;
      case 5:
        read_denormalizer(fields.message(), model);
        break;
      default:
        break;
    }
  }
  return model;
}

}  // namespace saddle::data
