#include "support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <stdexcept>

#include "support/tls_identity.h"

namespace saddle {
namespace {

constexpr int kPollMilliseconds = 10;

bool readable(int descriptor) {
  pollfd waited{descriptor, POLLIN, 0};
  return ::poll(&waited, 1, kPollMilliseconds) > 0;
}

// The value of a header, empty if there is none.
std::string header(const std::string& head, const std::string& name) {
  const size_t begin = head.find("\r\n" + name + ": ");
  if (begin == std::string::npos) return {};
  const size_t value = begin + name.size() + 4;
  return head.substr(value, head.find("\r\n", value) - value);
}

HttpSeen parse(const std::string& head) {
  const size_t first = head.find(' ');
  const size_t second = head.find(' ', first + 1);
  return {.method = head.substr(0, first),
          .path = head.substr(first + 1, second - first - 1),
          .range = header(head, "Range"),
          .if_range = header(head, "If-Range")};
}

std::string status_line(int status) {
  return "HTTP/1.1 " + std::to_string(status) + " so\r\nConnection: close\r\n";
}

std::string length_line(int64_t length) {
  return "Content-Length: " + std::to_string(length) + "\r\n";
}

}  // namespace

// An accepted connection, with or without TLS.
struct HttpServer::Connection {
  int socket;
  TlsIdentity::Session tls;  // null: none

  // Whether there is something to read; waits briefly.
  bool waiting() const { return (tls && SSL_pending(tls.get()) > 0) || readable(socket); }
  // False at the end.
  bool receive(char* byte) {
    return tls ? SSL_read(tls.get(), byte, 1) == 1 : ::recv(socket, byte, 1, 0) == 1;
  }
  // The number of bytes sent; negative at the end.
  ssize_t send(std::string_view bytes) {
    if (tls) return SSL_write(tls.get(), bytes.data(), static_cast<int>(bytes.size()));
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
};

HttpServer::HttpServer() {
  listen();
}

HttpServer::HttpServer(const std::string& host) : identity_(std::make_unique<TlsIdentity>(host)) {
  listen();
}

void HttpServer::listen() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) < 0 ||
      ::listen(listener_, 16) < 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) < 0) {
    throw std::runtime_error("cannot listen on 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] {
    // A TLS library writes to closed connections, which raises SIGPIPE in this thread only.
    sigset_t broken_pipe;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    serve();
  });
}

HttpServer::~HttpServer() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

std::string HttpServer::url(const std::string& path) const {
  return (identity_ ? "https" : "http") + std::string("://127.0.0.1:") + std::to_string(port_) +
         path;
}

std::string HttpServer::certificate() const {
  return identity_->certificate();
}

void HttpServer::add_file(const std::string& path, std::string content, std::string etag) {
  const std::lock_guard lock(mutex_);
  files_[path] = {std::move(content), std::move(etag)};
}

void HttpServer::script(const std::string& method, const std::string& path,
                        const std::vector<HttpBehaviour>& behaviours) {
  const std::lock_guard lock(mutex_);
  scripts_[{method, path}] = {behaviours.begin(), behaviours.end()};
}

std::vector<HttpSeen> HttpServer::seen(const std::string& method, const std::string& path) const {
  const std::lock_guard lock(mutex_);
  std::vector<HttpSeen> found;
  for (const HttpSeen& request : seen_) {
    if (request.method == method && request.path == path) found.push_back(request);
  }
  return found;
}

void HttpServer::serve() {
  while (!stop_) {
    if (!readable(listener_)) continue;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    {
      Connection connection{socket, identity_ ? identity_->accept(socket) : nullptr};
      if (!identity_ || connection.tls) answer(connection);
    }
    // A forked process may hold a copy of the descriptor, so closing would not end the connection.
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
  }
}

void HttpServer::answer(Connection& connection) {
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    char byte = 0;
    if (stop_) return;
    if (!connection.waiting()) continue;
    if (!connection.receive(&byte)) return;
    head.push_back(byte);
  }
  const HttpSeen request = parse(head);
  const HttpBehaviour behaviour = next_behaviour(request);
  File file;
  bool there = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(request.path);
    there = found != files_.end();
    if (there) file = found->second;
  }
  if (behaviour.silent) {
    wait_for_the_end(connection);
  } else if (behaviour.status == 200 && there) {
    answer_file(connection, request, behaviour, file);
  } else {
    const std::string text = "an error page";
    send_all(connection, status_line(behaviour.status == 200 ? 404 : behaviour.status) +
                             behaviour.headers + length_line(static_cast<int64_t>(text.size())) +
                             "\r\n" + (request.method == "HEAD" ? "" : text));
  }
}

HttpBehaviour HttpServer::next_behaviour(const HttpSeen& request) {
  const std::lock_guard lock(mutex_);
  seen_.push_back(request);
  std::deque<HttpBehaviour>& script = scripts_[{request.method, request.path}];
  if (script.empty()) return {};
  HttpBehaviour behaviour = script.front();
  script.pop_front();
  return behaviour;
}

void HttpServer::answer_file(Connection& connection, const HttpSeen& request,
                             const HttpBehaviour& behaviour, const File& file) {
  const std::string& content = behaviour.body.empty() ? file.content : behaviour.body;
  const std::string& etag = behaviour.etag.empty() ? file.etag : behaviour.etag;
  const auto whole = static_cast<int64_t>(content.size());
  int64_t first = 0;
  const bool same =
      request.if_range.empty() || request.if_range == etag || behaviour.ignore_if_range;
  const bool partial = !request.range.empty() && same && !behaviour.ignore_range;
  if (partial) first = std::stoll(request.range.substr(std::string("bytes=").size()));
  if (first >= whole && partial) {
    send_all(connection, status_line(416) + "Content-Range: bytes */" + std::to_string(whole) +
                             "\r\n" + length_line(0) + "\r\n");
    return;
  }
  std::string head = status_line(partial ? 206 : 200) + behaviour.headers;
  if (!behaviour.no_etag) head += "ETag: " + etag + "\r\n";
  if (!behaviour.no_length) head += length_line(whole - first + behaviour.length_error);
  if (partial) {
    head += "Content-Range: bytes " + std::to_string(first + behaviour.range_error) + "-" +
            std::to_string(whole - 1) + "/" + std::to_string(whole) + "\r\n";
  }
  if (!send_all(connection, head + "\r\n") || request.method == "HEAD") return;
  send_body(connection, std::string_view(content).substr(static_cast<size_t>(first)), behaviour);
}

void HttpServer::send_body(Connection& connection, std::string_view body,
                           const HttpBehaviour& behaviour) {
  if (behaviour.cut_after >= 0) body = body.substr(0, static_cast<size_t>(behaviour.cut_after));
  const auto piece = behaviour.bytes_for_each_ms > 0
                         ? static_cast<size_t>(behaviour.bytes_for_each_ms)
                         : body.size();
  while (!body.empty() && !stop_) {
    const std::string_view next = body.substr(0, piece);
    if (!send_all(connection, next)) return;
    body.remove_prefix(next.size());
    if (!body.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool HttpServer::send_all(Connection& connection, std::string_view bytes) const {
  while (!bytes.empty()) {
    if (stop_) return false;
    pollfd waited{connection.socket, POLLOUT, 0};
    if (::poll(&waited, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t sent = connection.send(bytes);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void HttpServer::wait_for_the_end(Connection& connection) const {
  char byte = 0;
  while (!stop_) {
    if (connection.waiting() && !connection.receive(&byte)) return;
  }
}

}  // namespace saddle
