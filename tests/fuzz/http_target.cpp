// Answers of an HTTP server.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <utility>

#include "data/http.h"
#include "fuzz/targets.h"

namespace saddle::fuzz {
namespace {

constexpr size_t kMostBytes = size_t{64} << 10;  // a socket accepts this many at once

// A server that has said all that it will say; while it lives, whatever connects connects to it.
class Answer {
 public:
  explicit Answer(std::string_view bytes) {
    require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) == 0, "no socket can be made");
    require(::send(ends_[1], bytes.data(), bytes.size(), MSG_DONTWAIT) ==
                static_cast<ssize_t>(bytes.size()),
            "a socket does not take an answer at once");
    ::shutdown(ends_[1], SHUT_WR);
    open_ = this;
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() {
    open_ = nullptr;
    for (const int end : ends_) ::close(end);
  }

  bool asked() const { return asked_; }
  static int connect(int socket) {
    if (open_ == nullptr || std::exchange(open_->asked_, true)) {
      errno = ECONNREFUSED;
      return -1;
    }
    return ::dup2(open_->ends_[0], socket) < 0 ? -1 : 0;
  }

 private:
  static Answer* open_;  // the system's function has no argument for it
  std::array<int, 2> ends_{};
  bool asked_ = false;
};
Answer* Answer::open_ = nullptr;

void check(const data::HttpHeaders& headers) {
  for (const auto& count : {headers.length, headers.first, headers.total, headers.linked_bytes}) {
    require(!count || *count >= 0, "a count of bytes is negative");
  }
}

}  // namespace
}  // namespace saddle::fuzz

// Replaces the system's function, so that libcurl gets the answer without knowing it.
extern "C" int connect(int socket, const sockaddr*, socklen_t) {
  return saddle::fuzz::Answer::connect(socket);
}

namespace saddle::fuzz {

// The first byte: bit 0, a HEAD; bit 1, request the bytes from 10 on.
void http(std::string_view bytes, Scratch&) {
  if (bytes.empty()) return;
  const int kind = static_cast<unsigned char>(bytes[0]);
  Answer answer(bytes.substr(1, kMostBytes));
  data::HttpOptions options;
  options.max_redirects = 0;  // they would leave this machine
  size_t received = 0;
  data::HttpRequest request;
  request.url = "http://127.0.0.1:1/file";
  request.head = (kind & 1) != 0;
  request.first = (kind & 2) != 0 ? 10 : 0;
  request.if_range = "\"tag\"";
  request.start = [](const data::HttpHeaders& headers) {
    check(headers);
    return true;
  };
  request.receive = [&](std::string_view piece) {
    received += piece.size();
    return true;
  };
  accepts([&] {
    const data::HttpReply reply = data::HttpClient(options).send(request);
    require(answer.asked(), "the answer was not read");
    check(reply.headers);
    require(received < bytes.size(), "more was received than was sent");
    require(reply.end == data::HttpEnd::kWhole || !reply.reason.empty(), "a failure has no reason");
    require(std::isfinite(reply.retry_after_s) && reply.retry_after_s >= 0, "a wait below zero");
    data::status_text(reply.headers.status);  // any number: libcurl passes it on
  });
}

}  // namespace saddle::fuzz
