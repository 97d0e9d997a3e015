#include "data/download.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "data/gzip_file.h"
#include "data/part_file.h"
#include "data/retry.h"

namespace saddle::data {

namespace {

constexpr int64_t kProgressBytes = int64_t{1} << 20;  // new bytes that make up for a failure
constexpr double kReportInterval_s = 0.2;

std::string human_bytes(int64_t bytes) {
  return human_count(static_cast<double>(bytes)) + "B";
}

// An ETag that identifies the bytes and not only the meaning (RFC 9110, section 8.8.1).
bool is_strong(const std::string& etag) {
  return etag.starts_with('"');
}

std::string named(const DownloadRequest& request) {
  return fmt::format("the download of {}", request.url);
}

// What is wrong with a file of `bytes` bytes at `path`; empty if it is as expected.
std::string content_fault(const Path& path, int64_t bytes, const DownloadRequest& request) {
  if (request.bytes && bytes != *request.bytes) {
    return fmt::format("expected {} bytes, found {}", *request.bytes, bytes);
  }
  if (!request.sha256.empty()) {
    const std::string found = sha256_file(path);
    if (found != request.sha256) {
      return fmt::format("expected the SHA-256 {}, found {}", request.sha256, found);
    }
  }
  if (!request.gzip) return {};
  const std::string fault = gzip_beginning_fault(path);
  return fault.empty() && request.sha256.empty() ? gzip_fault(path) : fault;
}

class Download {
 public:
  Download(const DownloadRequest& request, const DownloadOptions& options, Log* log)
      : request_(request),
        options_(options),
        log_(log),
        name_(request.destination.filename().string()),
        client_(options.http),
        part_(request.destination),
        retry_(named(request), options, log) {}

  DownloadResult run() {
    while (true) {
      if (!is_complete()) fetch();
      if (wrong_.empty()) wrong_ = content_fault(part_.path(), part_.size(), request_);
      if (wrong_.empty()) break;
      part_.empty();
      if (++wrong_times_ > options_.content_retries) {
        fail(ErrorKind::kData, "{}: {}, in each of {} attempts", request_.url, wrong_,
             wrong_times_);
      }
      retry_.failed(std::exchange(wrong_, {}));
    }
    result_.bytes = part_.size();
    part_.publish();
    return result_;
  }

 private:
  // A process may have been killed between the last byte and the name.
  bool is_complete() const {
    return part_.size() > 0 && can_resume() && part_.origin().bytes == part_.size();
  }

  bool can_resume() const {
    const PartOrigin& origin = part_.origin();
    if (!request_.sha256.empty()) return origin.sha256 == request_.sha256;
    return origin.url == public_url() && is_strong(origin.etag);
  }

  std::string public_url() const { return without_logins(request_.url, ""); }

  // Returns when all bytes have arrived, or `wrong_` says that they cannot be right.
  void fetch() {
    int64_t most = part_.size();
    while (true) {
      retry_.check_stop();
      const HttpReply reply = attempt();
      log_->finish_progress();
      if (part_.size() >= most + kProgressBytes) {
        most = part_.size();
        retry_.progressed();
      }
      if (!wrong_.empty()) return;
      const std::string failure = failure_of(reply);
      if (failure.empty()) return;
      retry_.failed(failure, reply.retry_after_s);
    }
  }

  HttpReply attempt() {
    if (part_.size() > 0 && !can_resume()) part_.empty();
    HttpRequest get;
    get.url = request_.url;
    get.first = part_.size();
    // Copies of one file may have different ETags; they do not matter if the hash is known.
    if (request_.sha256.empty()) get.if_range = part_.origin().etag;
    get.start = [&](const HttpHeaders& headers) { return start(headers, get.first); };
    get.receive = [&](std::string_view bytes) { return receive(bytes); };
    changed_.clear();
    watch_.restart();
    watched_from_ = get.first;
    next_report_s_ = kReportInterval_s;
    ++result_.requests;
    return client_.send(get);
  }

  bool start(const HttpHeaders& headers, int64_t asked_from) {
    if (headers.status == 200) return start_whole(headers, asked_from);
    if (headers.status == 206 && asked_from > 0) return start_rest(headers, asked_from);
    return false;  // judged by its status; its body is not used
  }

  bool start_whole(const HttpHeaders& headers, int64_t asked_from) {
    if (!fits(headers.length)) return false;
    if (asked_from > 0) {
      log_->info("{}: the server does not send the rest alone; starting again", name_);
    }
    part_.restart({.url = public_url(),
                   .etag = headers.etag,
                   .bytes = headers.length ? headers.length : request_.bytes,
                   .sha256 = request_.sha256});
    watched_from_ = 0;
    return true;
  }

  bool start_rest(const HttpHeaders& headers, int64_t asked_from) {
    if (!fits(headers.total)) return false;
    const PartOrigin& origin = part_.origin();
    const bool other_etag =
        !origin.etag.empty() && !headers.etag.empty() && headers.etag != origin.etag;
    if (other_etag && request_.sha256.empty()) {
      changed_ = "the file on the server has changed";
    } else if (headers.total && origin.bytes && *headers.total != *origin.bytes) {
      changed_ = fmt::format("the file on the server has changed from {} to {} bytes",
                             *origin.bytes, *headers.total);
    } else if (headers.first != asked_from) {
      changed_ = fmt::format("the server does not send the requested bytes from {} on", asked_from);
    } else {
      log_->info("{}: continuing at {}", name_, human_bytes(asked_from));
      return true;
    }
    part_.empty();
    return false;
  }

  bool fits(const std::optional<int64_t>& bytes) {
    if (!request_.bytes || !bytes || *bytes == *request_.bytes) return true;
    wrong_ = fmt::format("expected {} bytes, but the server has {}", *request_.bytes, *bytes);
    return false;
  }

  bool receive(std::string_view bytes) {
    part_.append(bytes);
    result_.received += static_cast<int64_t>(bytes.size());
    const std::optional<int64_t>& whole = part_.origin().bytes;
    if (whole && part_.size() > *whole) {
      wrong_ = fmt::format("expected {} bytes, but the server sends more", *whole);
      return false;
    }
    if (watch_.seconds() >= next_report_s_) report();
    return true;
  }

  void report() {
    const double seconds = watch_.seconds();
    const int64_t done = part_.size();
    const double rate = static_cast<double>(done - watched_from_) / std::max(seconds, 1e-3);
    const std::optional<int64_t>& whole = part_.origin().bytes;
    std::string line = fmt::format("{}: {}", name_, human_bytes(done));
    if (whole) line += " of " + human_bytes(*whole);
    line += fmt::format(", {}B/s", human_count(rate));
    if (whole && rate > 0.0) {
      line += fmt::format(", {} left", human_duration(static_cast<double>(*whole - done) / rate));
    }
    log_->progress(line);
    next_report_s_ = seconds + kReportInterval_s;
  }

  // Why another attempt is needed; empty if all bytes arrived. Throws if none would help.
  std::string failure_of(const HttpReply& reply) {
    retry_.check_stop();
    if (!changed_.empty()) return changed_;
    if (reply.end == HttpEnd::kRefused) {
      fail(ErrorKind::kIo, "{} failed: {}", named(request_), reply.reason);
    }
    const int64_t status = reply.headers.status;
    if (status != 0 && status != 200 && status != 206) {
      if (status == 416) {
        part_.empty();
        return "the server has no bytes after those received";
      }
      std::string answer = fmt::format("the server answers {}", status_text(status));
      if (is_passing(status)) return answer;
      fail(ErrorKind::kIo, "{} failed: {}", named(request_), answer);
    }
    if (reply.end == HttpEnd::kCut) return reply.reason;
    if (reply.end == HttpEnd::kAborted) {  // by start(): a part that was not requested
      return fmt::format("the server answers {} to a request for the whole file", status);
    }
    const std::optional<int64_t>& whole = part_.origin().bytes;
    if (whole && part_.size() < *whole) {
      return fmt::format("the connection ended after {} of {} bytes", part_.size(), *whole);
    }
    return {};
  }

  const DownloadRequest& request_;
  const DownloadOptions& options_;
  Log* log_;
  std::string name_;
  HttpClient client_;
  PartFile part_;
  Retry retry_;
  DownloadResult result_;
  std::string wrong_;    // what arrived is not what was expected
  std::string changed_;  // what is here does not match what the server has now
  int64_t wrong_times_ = 0;
  Stopwatch watch_;  // of an attempt
  int64_t watched_from_ = 0;
  double next_report_s_ = 0.0;
};

}  // namespace

DownloadResult download_file(const DownloadRequest& request, const DownloadOptions& options,
                             Log* log) {
  const Path& destination = request.destination;
  const Path directory = destination.parent_path();
  if (!directory.empty()) make_directories(directory);
  const FileLock lock(directory / fmt::format(".{}.lock", destination.filename().string()),
                      fmt::format("the download to {}", destination.string()));
  if (std::filesystem::is_regular_file(file_status(destination))) {
    DownloadResult result;
    result.present = true;
    result.bytes = InputFile(destination).size();
    const std::string fault = content_fault(destination, result.bytes, request);
    if (fault.empty()) {
      PartFile::remove_leftovers(destination);
      return result;
    }
    log->warn("{} exists, but is not what the server has: {}", destination.string(), fault);
  }
  return Download(request, options, log).run();
}

}  // namespace saddle::data
