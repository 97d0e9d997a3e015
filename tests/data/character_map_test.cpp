// Tables of replaced characters, built by the layout of Darts-clone tries.
#include "data/character_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace saddle::data {
namespace {

std::string little_endian(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string map_of(const std::vector<uint32_t>& nodes, const std::string& texts) {
  std::string map = little_endian(static_cast<uint32_t>(4 * nodes.size()));
  for (const uint32_t node : nodes) map += little_endian(node);
  return map + texts;
}

const std::string kTexts("ab\0c\0", 5);

// The 256 children of a node fill a block whose numbers differ in their low 8 bits.
TEST(CharacterMap, EveryChildOfANodeIsInTheTrie) {
  EXPECT_EQ(character_map_fault(map_of(std::vector<uint32_t>(256), kTexts)), "");
  EXPECT_THAT(character_map_fault(map_of(std::vector<uint32_t>(255), kTexts)),
              testing::HasSubstr("node 0 of its trie leads out"));
  std::vector<uint32_t> nodes(512);
  nodes[7] = 256 << 10;  // to 256 .. 511
  EXPECT_EQ(character_map_fault(map_of(nodes, kTexts)), "");
  nodes[7] = 512 << 10;
  EXPECT_THAT(character_map_fault(map_of(nodes, kTexts)), testing::HasSubstr("node 7 of"));
  nodes[7] = (2 << 10) | (1 << 9);  // the same place by the other form of an offset
  EXPECT_THAT(character_map_fault(map_of(nodes, kTexts)), testing::HasSubstr("node 7 of"));
}

TEST(CharacterMap, ValuesAreInsideTheTexts) {
  std::vector<uint32_t> nodes(256);
  nodes[7] = 1 << 8;  // its value is at 7 XOR 0
  nodes[7] |= 2 << 10;
  nodes[7 ^ 2] = (uint32_t{1} << 31) | 4;
  EXPECT_EQ(character_map_fault(map_of(nodes, kTexts)), "");
  nodes[7 ^ 2] = (uint32_t{1} << 31) | 5;
  EXPECT_THAT(character_map_fault(map_of(nodes, kTexts)), testing::HasSubstr("node 7 of"));
}

TEST(CharacterMap, SizesFit) {
  EXPECT_NE(character_map_fault("abc"), "");
  EXPECT_NE(character_map_fault(little_endian(0) + kTexts), "");
  EXPECT_NE(character_map_fault(little_endian(6) + std::string(1024, '\0')), "");
  EXPECT_NE(character_map_fault(little_endian(1028) + std::string(1024, '\0')), "");
  EXPECT_NE(character_map_fault(map_of(std::vector<uint32_t>(256), "")), "");
  EXPECT_NE(character_map_fault(map_of(std::vector<uint32_t>(256), "ab")), "");
}

}  // namespace
}  // namespace saddle::data
