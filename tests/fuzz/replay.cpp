// Gives each file of a corpus to a target, without a fuzzer: fuzz_replay --target=NAME FOLDER...
// ends with 0 when none of them shows a fault. An empty text and each file's first half run too.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <vector>

#include "base/files.h"

extern "C" int LLVMFuzzerInitialize(int* count, char*** words);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count);

namespace {

void run(const std::string& bytes) {
  // A copy of its own size, so that the address sanitizer sees a byte read past its end.
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int count, char** words) try {
  LLVMFuzzerInitialize(&count, &words);
  int64_t files = 0;
  run("");
  for (int i = 2; i < count; ++i) {
    std::vector<saddle::Path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(words[i])) {
      paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    for (const saddle::Path& path : paths) {
      std::printf("%s\n", path.filename().c_str());
      std::fflush(stdout);  // the last line before a fault names its file
      const std::string bytes = saddle::read_file(path);
      run(bytes);
      run(bytes.substr(0, bytes.size() / 2));
      ++files;
    }
  }
  if (files == 0) {
    std::fprintf(stderr, "no file of a corpus was given\n");
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fault: an exception left the target: %s\n", error.what());
  return 1;
}
