// Includes run only downwards: a room includes itself and the rooms that it uses.
#include "structure/rooms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "structure/planted_tree.h"
#include "structure/tree.h"

namespace saddle::structure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kThreeRooms = R"(
# saddle_room(commented USES nothing)
saddle_room(base LIBRARIES fmt::fmt)
saddle_room(ops USES base
            LIBRARIES OpenMP::OpenMP_CXX)
saddle_room(model USES ops)
)";

TEST(Rooms, IncludesOfTheTreeRunDownwards) {
  const Path root = SADDLE_SOURCE_DIR;
  const Rooms rooms = parse_rooms(read_text(root / "CMakeLists.txt"));
  ASSERT_TRUE(rooms.contains("base") && rooms.contains("train"));
  EXPECT_TRUE(rooms.at("train").contains("base"));
  EXPECT_FALSE(rooms.at("ops").contains("model"));
  EXPECT_FALSE(find_files(root, {"src"}, {".h"}).empty());
  const std::vector<std::string> wrong = find_wrong_includes(root, rooms);
  EXPECT_TRUE(wrong.empty()) << joined(wrong);
}

TEST(Rooms, MayIncludeThemselvesAndWhatTheyUseThroughOthers) {
  EXPECT_THAT(parse_rooms(kThreeRooms),
              ElementsAre(Pair("base", ElementsAre("base")),
                          Pair("model", ElementsAre("base", "model", "ops")),
                          Pair("ops", ElementsAre("base", "ops"))));
}

TEST(Rooms, UsingAnUndeclaredRoomIsAnError) {
  EXPECT_THROW(parse_rooms("saddle_room(ops USES base)\nsaddle_room(base)\n"), std::runtime_error);
}

TEST(WrongIncludes, AcceptDownwardIncludes) {
  const PlantedTree tree;
  tree.write("src/base/error.h", "#pragma once\n#include \"generated.h\"\n");
  tree.write("src/ops/matmul.cpp",
             "#include \"ops/matmul.h\"\n#include <cblas/cblas.h>\n#include \"base/error.h\"\n");
  tree.write("apps/saddle/commands.h", "#pragma once\n");
  tree.write("apps/saddle/main.cpp", "#include \"commands.h\"\n#include \"model/llama.h\"\n");
  EXPECT_THAT(find_wrong_includes(tree.root(), parse_rooms(kThreeRooms)), IsEmpty());
}

TEST(WrongIncludes, AreReportedWithFileAndLine) {
  const PlantedTree tree;
  tree.write("src/ops/cpu/softmax.cpp", "#include <cmath>\n\n#  include \"model/llama.h\"\n");
  tree.write("src/base/log.h", "#include <ops/matmul.h>\n");
  tree.write("src/model/llama.h", "#pragma once\n");
  tree.write("src/model/llama.cpp", "#include \"llama.h\"\n");
  tree.write("src/stray/x.h", "#pragma once\n");
  tree.write("apps/saddle/main.cpp", "#include \"nowhere.h\"\n");
  EXPECT_THAT(find_wrong_includes(tree.root(), parse_rooms(kThreeRooms)),
              ElementsAre(HasSubstr("apps/saddle/main.cpp:1: includes \"nowhere.h\""),
                          HasSubstr("src/base/log.h:1: base may not include ops/matmul.h"),
                          HasSubstr("src/model/llama.cpp:1: includes \"llama.h\""),
                          HasSubstr("src/ops/cpu/softmax.cpp:3: ops may not include model/llama.h"),
                          HasSubstr("src/stray/x.h:1: is in no room")));
}

}  // namespace
}  // namespace saddle::structure
