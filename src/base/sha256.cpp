#include "base/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"

namespace saddle {

struct Sha256::State {
  State() : context(EVP_MD_CTX_new()) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }

  EVP_MD_CTX* context;
};

namespace {

void check(bool good) {
  if (!good) fail(ErrorKind::kInternal, "SHA-256 failed inside libcrypto, or was used after hex()");
}

}  // namespace

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check(state_->context != nullptr &&
        EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::update(const void* bytes, size_t count) {
  check(state_ != nullptr && EVP_DigestUpdate(state_->context, bytes, count) == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  check(state_ != nullptr && EVP_DigestFinal_ex(state_->context, digest.data(), &length) == 1);
  state_.reset();
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

std::string sha256_file(const Path& path) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  const InputFile file(path);
  std::vector<char> piece(static_cast<size_t>(std::min(kPiece, file.size())));
  Sha256 hash;
  for (int64_t offset = 0; offset < file.size(); offset += kPiece) {
    const auto count = static_cast<size_t>(std::min(kPiece, file.size() - offset));
    file.read_at(offset, piece.data(), count);
    hash.update(piece.data(), count);
  }
  return hash.hex();
}

}  // namespace saddle
