#include "data/character_map.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace saddle::data {
namespace {

// A node of a double-array trie (Darts-clone 0.32). A child lies at the node's place XOR offset()
// XOR the byte that leads to it; the value of a node that has one lies there with a byte of 0.
struct TrieNode {
  uint32_t bits;

  bool is_value() const { return (bits >> 31) != 0; }
  bool has_value() const { return ((bits >> 8) & 1) != 0; }
  uint32_t value() const { return bits & 0x7fffffff; }
  uint32_t offset() const { return (bits >> 10) << ((bits & (1U << 9)) >> 6); }
};

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

class Trie {
 public:
  explicit Trie(std::string_view bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size() / sizeof(uint32_t); }
  TrieNode at(size_t place) const {
    return {little_endian(bytes_.substr(place * sizeof(uint32_t), sizeof(uint32_t)))};
  }
  // A node from which some byte leads out of the trie, or whose value is `values` or more. In an
  // intact trie, nodes that nothing leads to lead nowhere either, so all nodes are checked.
  std::optional<size_t> wrong_node(size_t values) const {
    for (size_t i = 0; i < size(); ++i) {
      const TrieNode node = at(i);
      if (node.is_value()) continue;
      const size_t children = i ^ node.offset();
      if ((children | 0xff) >= size()) return i;
      if (node.has_value() && at(children).value() >= values) return i;
    }
    return std::nullopt;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string character_map_fault(std::string_view map) {
  // The bytes of the trie, the trie, then the texts that replace others, each with a NUL.
  if (map.size() < sizeof(uint32_t)) return fmt::format("it has {} bytes", map.size());
  const uint32_t trie_bytes = little_endian(map);
  map.remove_prefix(sizeof(uint32_t));
  if (trie_bytes > map.size() || trie_bytes % sizeof(uint32_t) != 0 || trie_bytes == 0) {
    return fmt::format("its trie has {} of {} bytes", trie_bytes, map.size());
  }
  const Trie trie(map.substr(0, trie_bytes));
  const std::string_view texts = map.substr(trie_bytes);
  if (texts.empty() || texts.back() != '\0') return "its last text has no end";
  if (const auto node = trie.wrong_node(texts.size())) {
    return fmt::format("node {} of its trie leads out of it", *node);
  }
  return {};
}

}  // namespace saddle::data
