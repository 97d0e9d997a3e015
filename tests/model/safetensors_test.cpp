// Headers of damaged files: each is refused in one line that names the file and the tensor.
#include "model/safetensors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "base/files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::model {
namespace {

std::string file_text(const std::string& header, size_t data_bytes, uint64_t claimed) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(claimed >> (8 * i));
  return text + header + std::string(data_bytes, '\0');
}

class SafetensorsHeader : public ::testing::Test {
 protected:
  void expect_refused(const std::string& content, std::vector<std::string> parts) {
    SCOPED_TRACE(content);
    write_file_atomically(path_, content);
    parts.push_back(path_.string());
    expect_error(ErrorKind::kData, parts, [&] { const SafetensorsReader reader(path_); });
  }
  // A file with this header and 16 bytes of data.
  void expect_header_refused(const std::string& header, std::vector<std::string> parts) {
    expect_refused(file_text(header, 16, header.size()), std::move(parts));
  }
  // A file whose first 8 bytes of data are tensor a's, and whose tensor b is as given.
  void expect_entry_refused(const std::string& b, std::vector<std::string> parts) {
    parts.emplace_back("tensor b");
    expect_header_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":)" + b + "}",
                          std::move(parts));
  }

  TemporaryDirectory directory_;
  Path path_ = directory_ / "damaged.safetensors";
};

TEST_F(SafetensorsHeader, WholeFilesAreRead) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F64","shape":[1,1],"data_offsets":[8,16]}})";
  write_file_atomically(path_, file_text(header, 16, header.size()));
  const SafetensorsReader reader(path_);
  ASSERT_NE(reader.find("b"), nullptr);
  EXPECT_EQ(reader.find("b")->offset, static_cast<int64_t>(8 + header.size() + 8));
}

// As the format asks, so that programs can map files into memory.
TEST_F(SafetensorsHeader, DataBeginsAtAMultipleOfEightBytes) {
  for (size_t length = 1; length <= 8; ++length) {
    const std::string name(length, 'a');
    SafetensorsWriter writer(path_, {{.name = name, .dtype = "F64", .shape = {1}}}, {});
    const double value = 0.5;
    writer.write(&value, sizeof(value));
    writer.commit();
    const SafetensorsReader reader(path_);
    const TensorEntry* entry = reader.find(name);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->offset % 8, 0) << length;
    double found = 0;
    reader.read(*entry, 0, 1, &found);
    EXPECT_EQ(found, value);
  }
}

TEST_F(SafetensorsHeader, LengthMustBeInsideTheFile) {
  expect_refused("", {"expected at least 8 bytes, found 0"});
  expect_refused("1234567", {"expected at least 8 bytes, found 7"});
  expect_refused(file_text("{}", 0, 3), {"claims 3 bytes, but at most 2"});
  expect_refused(file_text("{}", 0, UINT64_MAX), {"claims 18446744073709551615 bytes"});
}

TEST_F(SafetensorsHeader, MustBeAnObjectOfJson) {
  expect_header_refused(R"({"a":)", {"header", "not valid JSON"});
  expect_header_refused(std::string(4, '\0'), {"header", "not valid JSON"});
  expect_header_refused("", {"header", "not valid JSON"});
  expect_header_refused("[]", {"not an object"});
  expect_header_refused(R"({"__metadata__":1})", {"__metadata__"});
  expect_header_refused(R"({"__metadata__":{"step":1}})", {"metadata step"});
  expect_header_refused("{}", {"the tensors end at byte 10, but the file at 26"});
}

TEST_F(SafetensorsHeader, EntriesMustBeComplete) {
  expect_entry_refused("3", {"expected an entry"});
  expect_entry_refused(R"({"shape":[2],"data_offsets":[8,16]})", {"expected an entry"});
  expect_entry_refused(R"({"dtype":"F32","data_offsets":[8,16]})", {"expected an entry"});
  expect_entry_refused(R"({"dtype":"F32","shape":[2]})", {"expected an entry"});
  expect_entry_refused(R"({"dtype":"F32","shape":[2],"data_offsets":[8]})", {"expected an entry"});
  expect_entry_refused(R"({"dtype":"F33","shape":[2],"data_offsets":[8,16]})",
                       {"unknown type F33"});
}

TEST_F(SafetensorsHeader, BytesMustBeContiguous) {
  const auto at = [](const std::string& offsets, const std::string& shape = "[2]") {
    return R"({"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  expect_entry_refused(at("[8,24]", "[4]"), {"[8, 24)", "16 bytes of data"});
  expect_entry_refused(at("[16,8]"), {"[16, 8)", "are not inside"});
  expect_entry_refused(at("[8,18446744073709551615]"), {"are not inside"});
  expect_entry_refused(at("[-8,0]"), {"-8", "not a byte position"});
  expect_entry_refused(at("[8.5,16]"), {"8.5", "not a byte position"});
  expect_entry_refused(at("[4,16]", "[3]"), {"an overlap or a gap"});
  expect_entry_refused(at("[12,16]", "[1]"), {"an overlap or a gap"});
  expect_header_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                        {"the tensors end at byte", "the file at"});
}

TEST_F(SafetensorsHeader, ShapesMustFillTheirBytes) {
  const auto of_shape = [](const std::string& shape) {
    return R"({"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[8,16]})";
  };
  expect_entry_refused(of_shape("[3]"), {"F32 of shape [3]", "its 8 bytes"});
  expect_entry_refused(of_shape("[]"), {"F32 of shape []", "its 8 bytes"});
  expect_entry_refused(of_shape("[0]"), {"F32 of shape [0]", "its 8 bytes"});
  expect_entry_refused(of_shape("[-1,-2]"), {"-1", "expected a size"});
  expect_entry_refused(of_shape("[2.0]"), {"2.0", "expected a size"});
  expect_entry_refused(of_shape("[9223372036854775808]"), {"expected a size"});
  // In 64 bits the number of elements wraps around to 2 and the number of bytes to 8.
  expect_entry_refused(of_shape("[4294967296,4294967296,2]"), {"does not fill its 8 bytes"});
  expect_entry_refused(of_shape("[4611686018427387906]"), {"does not fill its 8 bytes"});
}

TEST(Safetensors, BadDataEndsAProgramWithExitCode4) {
  EXPECT_EQ(exit_code(ErrorKind::kData), 4);
}

}  // namespace
}  // namespace saddle::model
