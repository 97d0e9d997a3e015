// Files downloaded over HTTPS: resumed where a connection broke, retried when the network or the
// server fails, checked, and published only when complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/log.h"
#include "data/http.h"

namespace saddle::data {

struct DownloadOptions {
  HttpOptions http;
  int64_t retries = 10;              // failures in a row, without another MiB
  int64_t content_retries = 2;       // further attempts when the content is not as expected
  double first_delay_s = 1.0;        // before the first retry; doubles with each failure in a row
  double max_delay_s = 60.0;         // the limit of the doubling
  double max_retry_after_s = 300.0;  // the longest wait that a server may request (Retry-After)
};

struct DownloadRequest {
  std::string url = {};
  Path destination = {};
  std::optional<int64_t> bytes = {};  // that the file must have
  std::string sha256 = {};  // that it must have, in hexadecimal digits; empty when unknown
  bool gzip = false;        // it must be gzip data; all of it is checked if no SHA-256 is known
};

struct DownloadResult {
  bool present = false;  // the destination already existed and was as expected
  int64_t bytes = 0;     // of the file
  int64_t received = 0;  // over the network, in this call
  int64_t requests = 0;  // sent in this call
};

// Downloads the file at `url` to `destination`.
//
// Received bytes are stored next to it (data/part_file.h) and stay there when the process is killed
// or gives up. The next attempt requests the rest (Range) when it can tell that the file is the
// same: because its SHA-256 is known, or else by a strong ETag (If-Range). It starts again if the
// server sends the whole file or a different one. Broken and stalled connections and the statuses
// of is_passing() are retried after a growing wait, or after the one that the server requests. The
// file gets its name once it is flushed to disk, has the expected size and hash, and is gzip data
// if that is required. A login in the URL (https://USER:PASSWORD@HOST) is not stored anywhere.
//
// Errors: kData when the size or the hash is wrong each time; kIo, with the URL, for every other
// status, when the retries are used up, when another process is downloading the same file, when the
// disk is full, and after a stop request.
DownloadResult download_file(const DownloadRequest& request, const DownloadOptions& options,
                             Log* log);

// What a server says about a file without sending it.
struct RemoteFile {
  std::optional<int64_t> bytes = {};
  std::string sha256 = {};  // empty when the server does not say
};

// Sends a HEAD request, with retries as above. The headers X-Linked-Size and X-Linked-ETag of a
// redirect describe a file that is stored elsewhere; Content-Length describes any other. The
// description is empty if the server does not support HEAD.
RemoteFile describe_url(const std::string& url, const DownloadOptions& options, Log* log);

}  // namespace saddle::data
