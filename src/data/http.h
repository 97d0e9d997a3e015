// One HTTP request through libcurl. TLS certificates are always verified, and a redirect never
// leads from https to http.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace saddle::data {

// The headers of an answer; those of the last answer if there were redirects.
struct HttpHeaders {
  int64_t status = 0;                   // 0 when there was no answer
  std::optional<int64_t> length;        // bytes of this body
  std::optional<int64_t> first;         // of a part of a file: the offset of its first byte
  std::optional<int64_t> total;         // of a part of a file: the bytes of the whole
  std::string etag;                     // as sent, with its quotes; empty if there is none
  std::optional<int64_t> linked_bytes;  // X-Linked-Size: of the file that a redirect leads to
  std::string linked_etag;              // X-Linked-ETag
  std::string redirect;                 // where the answer to a HEAD request points
};

struct HttpRequest {
  std::string url;
  bool head = false;     // request only the headers, and follow no redirects
  int64_t first = 0;     // > 0: request the bytes from this offset on
  std::string if_range;  // request the part only if this is still the file's ETag; may be empty
  // Called with the headers before the first byte of a body, then with each piece of it; false
  // ends the transfer. send() rethrows their exceptions.
  std::function<bool(const HttpHeaders&)> start;
  std::function<bool(std::string_view)> receive;
};

enum class HttpEnd {
  kWhole,    // the answer is complete
  kCut,      // the network failed: another attempt may work
  kRefused,  // it would fail again: a bad certificate or URL, too many redirects
  kAborted,  // by start(), receive() or a stop request
};

struct HttpReply {
  HttpEnd end = HttpEnd::kCut;
  HttpHeaders headers;
  std::string reason;          // of kCut and kRefused, in words
  double retry_after_s = 0.0;  // the wait that the server requests
};

struct HttpOptions {
  int64_t max_redirects = 10;
  int64_t connect_timeout_s = 30;
  int64_t stall_timeout_s = 60;  // a transfer below 1 kB/s for this long counts as cut
  std::function<bool()> stop;    // called about once a second or more often; may be empty
  std::string certificates;      // a PEM file to trust instead of the system's; may be empty
};

// Keeps its connection for further requests. For use by one thread.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  HttpReply send(const HttpRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "404 (not found)" for the statuses that users may meet.
std::string status_text(int64_t status);

// Whether a later attempt may succeed: 408, 425, 429 and 5xx.
bool is_passing(int64_t status);

}  // namespace saddle::data
