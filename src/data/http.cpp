#include "data/http.h"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <ctime>
#include <exception>

#include "base/error.h"

namespace saddle::data {

namespace {

constexpr long kBufferBytes = 256 << 10;
constexpr long kSlowestBytesPerSecond = 1000;

std::optional<int64_t> parse_count(std::string_view text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string header(CURL* handle, const char* name) {
  curl_header* found = nullptr;
  if (curl_easy_header(handle, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK) return {};
  return found->value;
}

// "bytes 100-199/200", where the whole may be "*".
void read_content_range(std::string_view text, HttpHeaders* headers) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return;
  text.remove_prefix(kUnit.size());
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return;
  headers->total = parse_count(text.substr(slash + 1));
  headers->first = parse_count(text.substr(0, text.substr(0, slash).find('-')));
}

// What is known when the headers are complete.
HttpHeaders read_headers(CURL* handle) {
  HttpHeaders headers;
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  headers.status = status;
  headers.length = parse_count(header(handle, "Content-Length"));
  read_content_range(header(handle, "Content-Range"), &headers);
  headers.etag = header(handle, "ETag");
  headers.linked_bytes = parse_count(header(handle, "X-Linked-Size"));
  headers.linked_etag = header(handle, "X-Linked-ETag");
  const char* redirect = nullptr;
  curl_easy_getinfo(handle, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect != nullptr) headers.redirect = redirect;
  return headers;
}

HttpEnd end_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpEnd::kWhole;
    case CURLE_WRITE_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
      return HttpEnd::kAborted;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_OUT_OF_MEMORY:
      return HttpEnd::kRefused;
    default:
      return HttpEnd::kCut;
  }
}

// One transfer, as the callbacks of libcurl see it. No exception may pass through C code, so it is
// stored here until the transfer is over.
struct Transfer {
  CURL* handle;
  const HttpRequest& request;
  const HttpOptions& options;
  bool started = false;
  std::exception_ptr failure = nullptr;

  template <class Call>
  bool guarded(Call call) {
    try {
      return call();
    } catch (...) {
      failure = std::current_exception();
      return false;
    }
  }
  bool start() {
    if (started) return true;
    started = true;
    return !request.start || request.start(read_headers(handle));
  }
};

size_t on_body(char* bytes, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view piece(bytes, size * count);
  const bool taken = transfer.guarded([&] {
    return transfer.start() && (!transfer.request.receive || transfer.request.receive(piece));
  });
  return taken ? piece.size() : CURL_WRITEFUNC_ERROR;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  const bool go_on =
      transfer.guarded([&] { return !transfer.options.stop || !transfer.options.stop(); });
  return go_on ? 0 : 1;
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  if (code != CURLE_OK) {
    fail(ErrorKind::kInternal, "libcurl rejects its option {}: {}", static_cast<int>(option),
         curl_easy_strerror(code));
  }
}

// Keeps a write to a closed connection, which the TLS library may try, from ending the process: the
// signal stays pending in this thread and is consumed before signals can be delivered again.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    ::sigemptyset(&only_);
    ::sigaddset(&only_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &only_, &before_);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;
  ~NoBrokenPipe() {
    const timespec now{};
    if (!was_pending_) ::sigtimedwait(&only_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t only_;
  sigset_t before_;
  bool was_pending_;
};

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

}  // namespace

struct HttpClient::State {
  explicit State(HttpOptions all) : options(std::move(all)), handle(curl_easy_init()) {
    if (handle == nullptr) fail(ErrorKind::kInternal, "libcurl cannot start");
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const NoBrokenPipe quiet;
    curl_easy_cleanup(handle);
  }

  void set_up(const HttpRequest& request, Transfer* transfer) {
    curl_easy_reset(handle);  // keeps the connection
    const bool secure = request.url.starts_with("https://");
    set(handle, CURLOPT_URL, request.url.c_str());
    set(handle, CURLOPT_PROTOCOLS_STR, secure ? "https" : "http,https");
    set(handle, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
    set(handle, CURLOPT_SSL_VERIFYPEER, 1L);
    set(handle, CURLOPT_SSL_VERIFYHOST, 2L);
    if (!options.certificates.empty()) {
      set(handle, CURLOPT_CAINFO, options.certificates.c_str());
    }
    set(handle, CURLOPT_NOSIGNAL, 1L);  // signals belong to the program
    set(handle, CURLOPT_USERAGENT, "saddle");
    set(handle, CURLOPT_NOBODY, request.head ? 1L : 0L);
    set(handle, CURLOPT_FOLLOWLOCATION, request.head ? 0L : 1L);
    set(handle, CURLOPT_MAXREDIRS, static_cast<long>(options.max_redirects));
    set(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_timeout_s));
    set(handle, CURLOPT_LOW_SPEED_LIMIT, kSlowestBytesPerSecond);
    set(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout_s));
    set(handle, CURLOPT_BUFFERSIZE, kBufferBytes);
    set(handle, CURLOPT_ERRORBUFFER, error.data());
    set(handle, CURLOPT_WRITEFUNCTION, on_body);
    set(handle, CURLOPT_WRITEDATA, static_cast<void*>(transfer));
    set(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
    set(handle, CURLOPT_XFERINFODATA, static_cast<void*>(transfer));
    set(handle, CURLOPT_NOPROGRESS, 0L);
  }

  HttpOptions options;
  CURL* handle;
  std::array<char, CURL_ERROR_SIZE> error{};
};

HttpClient::HttpClient(HttpOptions options) : state_(std::make_unique<State>(std::move(options))) {}
HttpClient::~HttpClient() = default;

HttpReply HttpClient::send(const HttpRequest& request) {
  CURL* const handle = state_->handle;
  Transfer transfer{handle, request, state_->options};
  state_->set_up(request, &transfer);
  std::unique_ptr<curl_slist, FreeList> lines;
  if (request.first > 0) {
    set(handle, CURLOPT_RANGE, fmt::format("{}-", request.first).c_str());
    if (!request.if_range.empty()) {
      const std::string line = "If-Range: " + request.if_range;
      lines.reset(curl_slist_append(nullptr, line.c_str()));
      set(handle, CURLOPT_HTTPHEADER, lines.get());
    }
  }
  state_->error[0] = '\0';
  const CURLcode code = [&] {
    const NoBrokenPipe quiet;
    return curl_easy_perform(handle);
  }();
  if (transfer.failure) std::rethrow_exception(transfer.failure);

  HttpReply reply;
  reply.end = end_of(code);
  reply.headers = read_headers(handle);
  reply.reason = state_->error[0] != '\0' ? state_->error.data() : curl_easy_strerror(code);
  // libcurl's text shows the proxy that it cannot parse, possibly with a password.
  if (reply.reason.starts_with("Unsupported proxy")) {
    reply.end = HttpEnd::kRefused;
    reply.reason = "the proxy set in the environment (https_proxy, ...) is not understood";
  }
  curl_off_t wait = 0;
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &wait);
  reply.retry_after_s = static_cast<double>(std::max<curl_off_t>(wait, 0));  // a date may be past
  // An empty body causes no calls above.
  if (reply.end == HttpEnd::kWhole && !request.head && !transfer.started && request.start &&
      !request.start(reply.headers)) {
    reply.end = HttpEnd::kAborted;
  }
  return reply;
}

std::string status_text(int64_t status) {
  const char* words = nullptr;
  switch (status) {
    case 401:
      words = "a login is required";
      break;
    case 403:
      words = "forbidden";
      break;
    case 404:
      words = "not found";
      break;
    case 429:
      words = "too many requests";
      break;
    case 503:
      words = "not available at the moment";
      break;
    default:
      break;
  }
  return words == nullptr ? std::to_string(status) : fmt::format("{} ({})", status, words);
}

bool is_passing(int64_t status) {
  return status == 408 || status == 425 || status == 429 || (status >= 500 && status < 600);
}

}  // namespace saddle::data
