#include "data/lines.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/narrow.h"

namespace saddle::data {

namespace {

constexpr size_t kInputBytes = size_t{256} << 10;
constexpr size_t kOutputBytes = size_t{1} << 20;
constexpr size_t kMaxLineBytes = size_t{1} << 30;  // a longer line is a damaged or wrong file
constexpr int kGzipOnly = 15 + 16;                 // zlib: the largest window, a gzip header

bool is_gzip(const Path& path, Compression compression) {
  return compression == Compression::kGzip || path.extension() == ".gz";
}

}  // namespace

std::string other_compression(const Path& path) {
  constexpr std::array<std::string_view, 10> kEndings = {".zst", ".zstd", ".xz",   ".bz2", ".lz4",
                                                         ".br",  ".zip",  ".lzma", ".7z",  ".Z"};
  const std::string ending = path.extension().string();
  return std::ranges::find(kEndings, ending) == kEndings.end() ? "" : ending;
}

struct LineReader::State {
  State(const Path& path, Compression compression)
      : file(path), gzip(is_gzip(path, compression)), input(kInputBytes), output(kOutputBytes) {
    if (!gzip && !other_compression(path).empty()) {
      fail(ErrorKind::kData, "{}: {} files cannot be read: expected .gz or plain text",
           path.string(), other_compression(path));
    }
    if (gzip && inflateInit2(&stream, kGzipOnly) != Z_OK) {
      fail(ErrorKind::kInternal, "zlib cannot start to decompress {}", path.string());
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (gzip) inflateEnd(&stream);
  }

  [[noreturn]] void damaged(const std::string& what) const {
    fail(ErrorKind::kData, "{}: {}, after line {}", file.path().string(), what, line);
  }

  // Reads the next piece of the file into `buffer`; 0 at its end.
  size_t read_piece(std::vector<char>* buffer) {
    const int64_t count =
        std::min<int64_t>(static_cast<int64_t>(buffer->size()), file.size() - offset);
    if (count > 0) file.read_at(offset, buffer->data(), static_cast<size_t>(count));
    offset += count;
    return static_cast<size_t>(count);
  }

  // Puts more text into `output`; false at the end of the file.
  bool fill() {
    begin = 0;
    end = gzip ? inflate_piece() : read_piece(&output);
    return end > 0;
  }

  // After a gzip member; true when nothing else is left in `input`. Tapes and some copying programs
  // pad a file with zero bytes; data after them would mean a hole in the file.
  bool pass_over_zero_bytes() {
    while (stream.avail_in > 0 && *stream.next_in == 0) {
      ++stream.next_in;
      --stream.avail_in;
      ++zero_bytes;
    }
    if (stream.avail_in == 0) return true;
    if (zero_bytes > 0) {
      damaged(fmt::format("{} zero bytes after a gzip member, and then more data", zero_bytes));
    }
    return false;
  }

  size_t inflate_piece() {
    while (true) {
      if (stream.avail_in == 0) {
        const size_t count = read_piece(&input);
        if (count == 0) {
          if (in_member || members == 0) damaged("the gzip data ends early (a truncated file?)");
          return 0;
        }
        stream.next_in = reinterpret_cast<Bytef*>(input.data());
        stream.avail_in = narrow<uInt>(count);
      }
      if (!in_member && members > 0 && pass_over_zero_bytes()) continue;
      in_member = true;
      stream.next_out = reinterpret_cast<Bytef*>(output.data());
      stream.avail_out = narrow<uInt>(output.size());
      const int code = inflate(&stream, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        in_member = false;
        ++members;
        inflateReset(&stream);
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        const std::string reason = stream.msg != nullptr ? stream.msg : "unknown reason";
        damaged(fmt::format("the gzip data is damaged at about byte {} ({})",
                            offset - static_cast<int64_t>(stream.avail_in), reason));
      }
      const size_t count = output.size() - stream.avail_out;
      if (count > 0) return count;
    }
  }

  InputFile file;
  bool gzip;
  std::vector<char> input;
  std::vector<char> output;
  size_t begin = 0;  // of the text in `output` that no line has taken
  size_t end = 0;
  int64_t offset = 0;  // of the next piece in the file
  int64_t line = 0;
  int64_t members = 0;
  int64_t zero_bytes = 0;
  bool in_member = false;
  z_stream stream{};
};

LineReader::LineReader(const Path& path, Compression compression)
    : state_(std::make_unique<State>(path, compression)) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

bool LineReader::next(std::string* line) {
  State& state = *state_;
  line->clear();
  bool any = false;
  while (state.begin < state.end || state.fill()) {
    any = true;
    const char* text = state.output.data() + state.begin;
    const size_t available = state.end - state.begin;
    const void* newline = std::memchr(text, '\n', available);
    const size_t count = newline != nullptr
                             ? static_cast<size_t>(static_cast<const char*>(newline) - text)
                             : available;
    if (line->size() + count > kMaxLineBytes) state.damaged("a line is longer than 1 GiB");
    line->append(text, count);
    state.begin += count;
    if (newline != nullptr) {
      ++state.begin;
      break;
    }
  }
  if (any) ++state.line;
  return any;
}

int64_t LineReader::line() const {
  return state_->line;
}
int64_t LineReader::bytes_read() const {
  return state_->offset;
}
int64_t LineReader::zero_bytes() const {
  return state_->zero_bytes;
}

}  // namespace saddle::data
