#include <algorithm>

#include "base/error.h"
#include "data/download.h"
#include "data/retry.h"

namespace saddle::data {

namespace {

constexpr size_t kSha256Digits = 64;

// The ETag of a large file is its SHA-256 in quotes; any other ETag says nothing about its content.
std::string sha256_of_etag(std::string etag) {
  std::erase(etag, '"');
  const bool hexadecimal = std::ranges::all_of(
      etag, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return etag.size() == kSha256Digits && hexadecimal ? etag : std::string();
}

bool is_redirect(int64_t status) {
  return status >= 300 && status < 400;
}

}  // namespace

RemoteFile describe_url(const std::string& url, const DownloadOptions& options, Log* log) {
  const std::string what = fmt::format("the request for the size of {}", url);
  HttpClient client(options.http);
  Retry retry(what, options, log);
  HttpRequest request;
  request.url = url;
  request.head = true;
  int64_t redirects = 0;
  while (true) {
    retry.check_stop();
    const HttpReply reply = client.send(request);
    const HttpHeaders& headers = reply.headers;
    retry.check_stop();
    if (reply.end == HttpEnd::kRefused) fail(ErrorKind::kIo, "{} failed: {}", what, reply.reason);
    if (reply.end != HttpEnd::kWhole) {
      retry.failed(reply.reason);
      continue;
    }
    // Prefer the description in the redirect to a request to the other server, which may support
    // only GET.
    if (headers.linked_bytes) return {headers.linked_bytes, sha256_of_etag(headers.linked_etag)};
    if (is_redirect(headers.status) && !headers.redirect.empty()) {
      if (++redirects > options.http.max_redirects) {
        fail(ErrorKind::kIo, "{} failed: more than {} redirects", what, options.http.max_redirects);
      }
      if (url.starts_with("https://") && !headers.redirect.starts_with("https://")) {
        fail(ErrorKind::kIo, "{} failed: it is redirected away from https, to {}", what,
             headers.redirect.substr(0, headers.redirect.find_first_of("?#")));
      }
      request.url = headers.redirect;
    } else if (headers.status == 200) {
      // Servers that do not know the length send 0.
      return {headers.length == 0 ? std::nullopt : headers.length, {}};
    } else if (headers.status == 405 || headers.status == 501 ||
               (headers.status == 403 && redirects > 0)) {
      return {};
    } else {
      const std::string answer = fmt::format("the server answers {}", status_text(headers.status));
      if (!is_passing(headers.status)) fail(ErrorKind::kIo, "{} failed: {}", what, answer);
      retry.failed(answer, reply.retry_after_s);
    }
  }
}

}  // namespace saddle::data
