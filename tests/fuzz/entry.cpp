// What libFuzzer calls. `--target=NAME` selects the target (libFuzzer ignores such options).
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/harness.h"

namespace {

struct Session {
  saddle::fuzz::Scratch scratch;
  const saddle::fuzz::Target* target = nullptr;
};

// libFuzzer's functions have no argument for it.
Session& session() {
  static Session only;
  return only;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view word = (*words)[i];
    if (word.starts_with(kOption)) {
      session().target = saddle::fuzz::find_target(word.substr(kOption.size()));
    }
  }
  if (session().target == nullptr) {
    std::fprintf(stderr, "expected --target=NAME, one of:\n");
    for (const auto& target : saddle::fuzz::targets()) {
      std::fprintf(stderr, "  %s\n", std::string(target.name).c_str());
    }
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  session().target->run({reinterpret_cast<const char*>(bytes), count}, session().scratch);
  return 0;
}
