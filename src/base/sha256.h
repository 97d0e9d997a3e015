// SHA-256 (FIPS 180-4) through OpenSSL's libcrypto.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"

namespace saddle {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void update(const void* bytes, size_t count);
  std::string hex();  // the digest in 64 hexadecimal digits; the object is finished afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);
std::string sha256_file(const Path& path);

}  // namespace saddle
