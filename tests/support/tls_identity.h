// A certificate created on demand, for servers in tests.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace saddle {

struct TlsDeleter {
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// A key and a self-signed certificate for `host` (an IP address), valid for an hour.
class TlsIdentity {
 public:
  using Session = std::unique_ptr<SSL, TlsDeleter>;

  explicit TlsIdentity(const std::string& host);

  const std::string& certificate() const { return pem_; }

  // The server's side of a connection; null if the client does not continue.
  Session accept(int socket) const;

 private:
  std::unique_ptr<SSL_CTX, TlsDeleter> context_;
  std::string pem_;
};

}  // namespace saddle
