#include "data/http.h"

#include <gtest/gtest.h>

#include "support/http_server.h"

namespace saddle::data {
namespace {

// Some servers send a date, which may be in the past when the clocks differ.
TEST(Http, TheWaitThatAServerRequestsIsNotNegative) {
  HttpServer server;
  server.add_file("/a", "text");
  server.script("GET", "/a",
                {{.status = 503, .headers = "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n"},
                 {.status = 503, .headers = "Retry-After: -5\r\n"},
                 {.status = 503, .headers = "Retry-After: 7\r\n"}});
  HttpClient client{HttpOptions{}};
  HttpRequest request;
  request.url = server.url("/a");
  for (const double expected : {0.0, 0.0, 7.0}) {
    const HttpReply reply = client.send(request);
    EXPECT_EQ(reply.headers.status, 503);
    EXPECT_EQ(reply.retry_after_s, expected);
  }
}

}  // namespace
}  // namespace saddle::data
