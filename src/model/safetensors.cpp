#include "model/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace saddle::model {
namespace {

constexpr int64_t kLargestHeader = int64_t{100} << 20;

struct DtypeSize {
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<DtypeSize, 14> kDtypes{{{"F64", 8},
                                             {"F32", 4},
                                             {"F16", 2},
                                             {"BF16", 2},
                                             {"I64", 8},
                                             {"I32", 4},
                                             {"I16", 2},
                                             {"I8", 1},
                                             {"U64", 8},
                                             {"U32", 4},
                                             {"U16", 2},
                                             {"U8", 1},
                                             {"F8_E4M3", 1},
                                             {"BOOL", 1}}};

// The number of elements, or -1 if it does not fit.
int64_t element_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return -1;
  }
  return count;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::array<unsigned char, 8> little_endian(uint64_t value) {
  std::array<unsigned char, 8> bytes{};
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  return bytes;
}

// The bytes of one element, or 0 for a type that is not in the format.
int64_t known_bytes(std::string_view dtype) {
  for (const DtypeSize& known : kDtypes) {
    if (known.name == dtype) return known.bytes;
  }
  return 0;
}

int64_t read_header_length(const InputFile& file) {
  if (file.size() < 8) {
    fail(ErrorKind::kData, "{}: not a safetensors file: expected at least 8 bytes, found {}",
         file.path().string(), file.size());
  }
  std::array<unsigned char, 8> bytes{};
  file.read_at(0, bytes.data(), bytes.size());
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | bytes[i];
  const auto most = static_cast<uint64_t>(std::min(kLargestHeader, file.size() - 8));
  if (length > most) {
    fail(ErrorKind::kData,
         "{}: the safetensors header claims {} bytes, but at most {} are possible in this file "
         "(truncated, or not a safetensors file)",
         file.path().string(), length, most);
  }
  return static_cast<int64_t>(length);
}

[[noreturn]] void bad_entry(const Path& path, std::string_view name, std::string_view what) {
  fail(ErrorKind::kData, "{}: tensor {}: {}", path.string(), name, what);
}

// An entry of the header; data_bytes is the number of bytes after the header in the file.
TensorEntry parse_entry(const Path& path, const std::string& name, const Json& value,
                        int64_t data_start, int64_t data_bytes) {
  if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() ||
      !value.contains("shape") || !value["shape"].is_array() || !value.contains("data_offsets") ||
      !value["data_offsets"].is_array() || value["data_offsets"].size() != 2) {
    bad_entry(path, name, "expected an entry with dtype, shape and two data_offsets");
  }
  TensorEntry entry;
  entry.name = name;
  entry.dtype = value["dtype"].get<std::string>();
  for (const Json& extent : value["shape"]) {
    if (!extent.is_number_unsigned() ||
        extent.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      bad_entry(path, name, fmt::format("the shape contains {}, expected a size", extent.dump()));
    }
    entry.shape.push_back(extent.get<int64_t>());
  }
  std::array<uint64_t, 2> range{};
  for (int i = 0; i < 2; ++i) {
    const Json& offset = value["data_offsets"][i];
    if (!offset.is_number_unsigned()) {
      bad_entry(path, name, fmt::format("the offset {} is not a byte position", offset.dump()));
    }
    range[i] = offset.get<uint64_t>();
  }
  if (range[0] > range[1] || range[1] > static_cast<uint64_t>(data_bytes)) {
    bad_entry(path, name,
              fmt::format("its bytes [{}, {}) are not inside the {} bytes of data (truncated "
                          "file, or a wrong header)",
                          range[0], range[1], data_bytes));
  }
  entry.offset = data_start + static_cast<int64_t>(range[0]);
  entry.bytes = static_cast<int64_t>(range[1] - range[0]);
  const int64_t element = known_bytes(entry.dtype);
  if (element == 0) bad_entry(path, name, fmt::format("unknown type {}", entry.dtype));
  const int64_t count = element_count(entry.shape);
  int64_t expected = 0;
  if (count < 0 || __builtin_mul_overflow(count, element, &expected) || expected != entry.bytes) {
    bad_entry(path, name,
              fmt::format("{} of shape {} does not fill its {} bytes", entry.dtype,
                          shape_text(entry.shape), entry.bytes));
  }
  return entry;
}

// The ranges must be contiguous and reach the end of the file.
void check_coverage(const Path& path, const std::vector<TensorEntry>& entries, int64_t data_start,
                    int64_t file_size) {
  int64_t next = data_start;
  for (const TensorEntry& entry : entries) {
    if (entry.offset != next) {
      bad_entry(path, entry.name,
                fmt::format("its bytes begin at {} of the file, expected {} (an overlap or a gap)",
                            entry.offset, next));
    }
    next = entry.offset + entry.bytes;
  }
  if (next != file_size) {
    fail(ErrorKind::kData, "{}: the tensors end at byte {}, but the file at {}", path.string(),
         next, file_size);
  }
}

}  // namespace

int64_t element_bytes(std::string_view dtype) {
  const int64_t bytes = known_bytes(dtype);
  if (bytes == 0) fail(ErrorKind::kData, "unknown tensor type {}", dtype);
  return bytes;
}

SafetensorsReader::SafetensorsReader(const Path& path) : file_(path) {
  const int64_t length = read_header_length(file_);
  std::string text(static_cast<size_t>(length), '\0');
  file_.read_at(8, text.data(), text.size());
  const Json header = parse_json(text, path.string() + " (safetensors header)");
  if (!header.is_object()) {
    fail(ErrorKind::kData, "{}: the safetensors header is not an object", path.string());
  }
  const int64_t data_start = 8 + length;
  for (const auto& [name, value] : header.items()) {
    if (name != "__metadata__") {
      entries_.push_back(parse_entry(path, name, value, data_start, file_.size() - data_start));
      continue;
    }
    if (!value.is_object()) {
      fail(ErrorKind::kData, "{}: __metadata__ is not an object", path.string());
    }
    for (const auto& [key, item] : value.items()) {
      if (!item.is_string()) {
        fail(ErrorKind::kData, "{}: metadata {} is not a string", path.string(), key);
      }
      metadata_[key] = item.get<std::string>();
    }
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const TensorEntry& a, const TensorEntry& b) { return a.offset < b.offset; });
  check_coverage(path, entries_, data_start, file_.size());
}

const TensorEntry* SafetensorsReader::find(std::string_view name) const {
  for (const TensorEntry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

void SafetensorsReader::read(const TensorEntry& entry, int64_t first, int64_t count,
                             void* out) const {
  const int64_t size = element_bytes(entry.dtype);
  if (first < 0 || count < 0 || (first + count) * size > entry.bytes) {
    fail(ErrorKind::kInternal, "{}: elements [{}, {}) of tensor {} were requested", path().string(),
         first, first + count, entry.name);
  }
  file_.read_at(entry.offset + first * size, out, static_cast<size_t>(count * size));
}

SafetensorsWriter::SafetensorsWriter(const Path& path, std::vector<TensorEntry> entries,
                                     const std::map<std::string, std::string>& metadata)
    : path_(path), file_(path) {
  Json header = Json::object();
  if (!metadata.empty()) {
    for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  }
  for (const TensorEntry& entry : entries) {
    const int64_t bytes = element_count(entry.shape) * element_bytes(entry.dtype);
    header[entry.name] = {{"dtype", entry.dtype},
                          {"shape", entry.shape},
                          {"data_offsets", {expected_, expected_ + bytes}}};
    expected_ += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // aligns the data
  const auto length = little_endian(text.size());
  file_.write(length.data(), length.size());
  file_.write(text);
  expected_ += file_.size();
}

void SafetensorsWriter::write(const void* bytes, size_t count) {
  file_.write(bytes, count);
}

void SafetensorsWriter::commit() {
  if (file_.size() != expected_) {
    fail(ErrorKind::kInternal, "a safetensors file of {} bytes was announced, but {} were written",
         expected_, file_.size());
  }
  file_.commit();
}

}  // namespace saddle::model
