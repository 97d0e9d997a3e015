// A small HTTP server on 127.0.0.1 that misbehaves on request.
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

// How to answer one request. The defaults serve the file, or the requested part of it.
struct HttpBehaviour {
  int status = 200;              // any other: a short text instead of the file
  std::string headers = {};      // further lines, each ending with \r\n
  bool ignore_range = false;     // send the whole file whatever was requested
  bool ignore_if_range = false;  // send the rest of the file even if it has changed
  std::string body = {};         // instead of the file; empty: the file
  std::string etag = {};         // instead of the file's; empty: the file's
  bool no_etag = false;
  bool no_length = false;         // no Content-Length: the end of the connection is the end
  int64_t length_error = 0;       // added to the Content-Length
  int64_t range_error = 0;        // added to the offset in Content-Range
  int64_t cut_after = -1;         // closes the connection after these bytes of the body; -1: never
  int64_t bytes_for_each_ms = 0;  // 0: as fast as possible
  bool silent = false;            // accept the request and do not answer
};

// A received request.
struct HttpSeen {
  std::string method = {};
  std::string path = {};
  std::string range = {};     // empty if there was none
  std::string if_range = {};  // the same
};

class TlsIdentity;

// Serves one connection after another from its own thread, with one request per connection.
class HttpServer {
 public:
  HttpServer();
  // Uses TLS with a self-signed certificate for `host`.
  explicit HttpServer(const std::string& host);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // http://127.0.0.1:PORT, or https, followed by the path.
  std::string url(const std::string& path) const;
  // The certificate as PEM text, for clients that should trust it.
  std::string certificate() const;

  void add_file(const std::string& path, std::string content, std::string etag = "\"v1\"");

  // The next requests with this method and path are answered with these behaviours in turn, later
  // ones normally.
  void script(const std::string& method, const std::string& path,
              const std::vector<HttpBehaviour>& behaviours);

  // The requests with this method and path so far.
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
