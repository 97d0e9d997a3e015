#include "support/tls_identity.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <stdexcept>

namespace saddle {
namespace {

template <auto function>
struct Free {
  template <class Type>
  void operator()(Type* pointer) const {
    function(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Memory = std::unique_ptr<BIO, Free<BIO_free>>;

void check(bool worked) {
  if (!worked) throw std::runtime_error("OpenSSL cannot make a certificate");
}

Certificate make_certificate(EVP_PKEY* key, const std::string& host) {
  Certificate certificate(X509_new());
  check(certificate != nullptr);
  X509* const it = certificate.get();
  check(X509_set_version(it, 2) == 1);  // 2 means version 3
  check(ASN1_INTEGER_set(X509_get_serialNumber(it), 1) == 1);
  check(X509_gmtime_adj(X509_getm_notBefore(it), -60) != nullptr);
  check(X509_gmtime_adj(X509_getm_notAfter(it), 3600) != nullptr);
  check(X509_set_pubkey(it, key) == 1);
  X509_NAME* const name = X509_get_subject_name(it);
  const auto* text = reinterpret_cast<const unsigned char*>("a test");
  check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1);
  check(X509_set_issuer_name(it, name) == 1);
  const Extension extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, ("IP:" + host).c_str()));
  check(extension != nullptr && X509_add_ext(it, extension.get(), -1) == 1);
  check(X509_sign(it, key, EVP_sha256()) > 0);
  return certificate;
}

}  // namespace

TlsIdentity::TlsIdentity(const std::string& host) : context_(SSL_CTX_new(TLS_server_method())) {
  const Key key(EVP_EC_gen("P-256"));
  check(context_ != nullptr && key != nullptr);
  const Certificate certificate = make_certificate(key.get(), host);
  check(SSL_CTX_use_certificate(context_.get(), certificate.get()) == 1);
  check(SSL_CTX_use_PrivateKey(context_.get(), key.get()) == 1);
  const Memory memory(BIO_new(BIO_s_mem()));
  check(memory != nullptr && PEM_write_bio_X509(memory.get(), certificate.get()) == 1);
  std::array<char, 4096> text{};
  const int count = BIO_read(memory.get(), text.data(), static_cast<int>(text.size()));
  check(count > 0);
  pem_.assign(text.data(), static_cast<size_t>(count));
}

TlsIdentity::Session TlsIdentity::accept(int socket) const {
  Session session(SSL_new(context_.get()));
  check(session != nullptr && SSL_set_fd(session.get(), socket) == 1);
  if (SSL_accept(session.get()) != 1) return nullptr;
  return session;
}

}  // namespace saddle
