// What a server answers.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/http.h"
#include "fuzz/targets.h"

namespace saddle::fuzz {
namespace {

constexpr size_t kMostBytes = size_t{64} << 10;  // a socket takes so many at once

// A connection to a server that has said all that it will say.
class Answer {
 public:
  explicit Answer(std::string_view bytes) {
    std::array<int, 2> ends{};
    require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "no socket can be made");
    client_ = ends[0];
    server_ = ends[1];
    require(::send(server_, bytes.data(), bytes.size(), MSG_DONTWAIT) ==
                static_cast<ssize_t>(bytes.size()),
            "a socket does not take an answer at once");
    ::shutdown(server_, SHUT_WR);
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() {
    ::close(server_);
    if (client_ >= 0) ::close(client_);
  }
  // Once; who takes it closes it.
  int take() { return std::exchange(client_, -1); }

 private:
  int client_ = -1;
  int server_ = -1;
};

void check(const data::HttpHeaders& headers) {
  for (const auto& count : {headers.length, headers.first, headers.total, headers.linked_bytes}) {
    require(!count || *count >= 0, "a count of bytes is negative");
  }
  require(headers.status >= 0 && headers.status < 1000, "a status has more than three digits");
}

}  // namespace

// The first byte: bit 0, a HEAD; bit 1, the bytes from 10 on are asked for.
void http(std::string_view bytes, Scratch&) {
  if (bytes.empty()) return;
  const int kind = static_cast<unsigned char>(bytes[0]);
  Answer answer(bytes.substr(1, kMostBytes));
  data::HttpOptions options;
  options.max_redirects = 0;  // they would leave this machine
  options.connected_socket = [&] { return answer.take(); };
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
    check(reply.headers);
    require(received < bytes.size(), "more was received than was sent");
    require(reply.end == data::HttpEnd::kWhole || !reply.reason.empty(), "a failure has no words");
    require(std::isfinite(reply.retry_after_s) && reply.retry_after_s >= 0, "a wait below zero");
    data::status_text(reply.headers.status);
  });
}

}  // namespace saddle::fuzz
