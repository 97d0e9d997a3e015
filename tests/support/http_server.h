// A small HTTP server on 127.0.0.1 that misbehaves as it is told to.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace saddle {

// How one request is answered. The defaults serve the file, or the part of it that was asked for.
struct HttpBehaviour {
  int status = 200;              // any other: a short text instead of the file
  std::string headers = {};      // further lines, each with \r\n behind it
  bool ignore_range = false;     // the whole file whatever was asked for
  bool ignore_if_range = false;  // the rest of the file although it is another one
  std::string body = {};         // instead of the file; empty: the file
  std::string etag = {};         // instead of the file's; empty: the file's
  bool no_etag = false;
  bool no_length = false;         // no Content-Length: the end of the connection is the end
  int64_t length_error = 0;       // added to the Content-Length
  int64_t range_error = 0;        // added to the offset in Content-Range
  int64_t cut_after = -1;         // bytes of the body, then the connection is closed; -1: never
  int64_t bytes_for_each_ms = 0;  // 0: as fast as it goes
  bool silent = false;            // takes the request and says nothing
};

// A request as it came.
struct HttpSeen {
  std::string method = {};
  std::string path = {};
  std::string range = {};     // empty when there was none
  std::string if_range = {};  // the same
};

class TlsIdentity;

// Serves one connection after another from a thread of its own, one request on each.
class HttpServer {
 public:
  HttpServer();
  // Speaks TLS, with a certificate that it signed itself for `host`.
  explicit HttpServer(const std::string& host);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // http://127.0.0.1:PORT, or https, and the path behind it.
  std::string url(const std::string& path) const;
  // The certificate as PEM text, for those who want to trust it.
  std::string certificate() const;

  void add_file(const std::string& path, std::string content, std::string etag = "\"v1\"");

  // The next requests of that method and path are answered so, in turn; those behind plainly.
  void script(const std::string& method, const std::string& path,
              const std::vector<HttpBehaviour>& behaviours);

  // Those of that method and path so far.
  std::vector<HttpSeen> seen(const std::string& method, const std::string& path) const;

 private:
  struct File {
    std::string content;
    std::string etag;
  };

  struct Connection;

  void listen();
  void serve();
  void answer(Connection& connection);
  HttpBehaviour next_behaviour(const HttpSeen& request);
  void answer_file(Connection& connection, const HttpSeen& request, const HttpBehaviour& behaviour,
                   const File& file);
  void send_body(Connection& connection, std::string_view body, const HttpBehaviour& behaviour);
  bool send_all(Connection& connection, std::string_view bytes) const;
  void wait_for_the_end(Connection& connection) const;

  std::unique_ptr<TlsIdentity> identity_;  // none: plain HTTP
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::map<std::string, File> files_;
  std::map<std::pair<std::string, std::string>, std::deque<HttpBehaviour>> scripts_;
  std::vector<HttpSeen> seen_;
  std::thread thread_;
};

}  // namespace saddle
