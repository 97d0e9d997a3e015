// The page of a report in a real browser. Skips if there is none: scripts/install-packages.sh
// --tests installs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <regex>

#include "base/error.h"
#include "base/process.h"
#include "report/planted_run.h"
#include "report/report.h"
#include "support/temporary_directory.h"

namespace saddle::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kTimeLimit = 60;  // seconds; it takes one or two

// Replaces the last occurrence.
std::string replaced(std::string text, const std::string& what, const std::string& with) {
  return text.replace(text.rfind(what), what.size(), with);
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      if (!run_process({"chromium", "--version"}, {}).succeeded()) {
        GTEST_SKIP() << "chromium does not start";
      }
    } catch (const Error&) {
      GTEST_SKIP() << "there is no chromium: install the package chromium";
    }
    PlantedRun().write(sweep_ / "lr0.001");
    PlantedRun gaps;
    gaps.settings.optimizer.lr = 0.003;
    gaps.losses[2] = nullptr;
    gaps.distances = {1.0, 0.5, nullptr, 0.25};
    gaps.finished = false;
    gaps.log = "training ended after 4 updates: the loss is nan";
    gaps.write(sweep_ / "lr0.003");
    PlantedRun other;
    other.settings.data.cache = "a/path/that/is/long/and/cannot/be/broken/" + std::string(80, 'x');
    other.write(sweep_ / ("a-run-whose-name-is-long-" + std::string(60, 'y')));
    Log log = Log::silent();
    page_ = write_report({.runs = {sweep_}, .output = directory_ / "report"}, log).page;
  }

  ProcessResult browse(const std::vector<std::string>& options, const Path& page) {
    std::vector<std::string> command = {"chromium",
                                        "--headless=new",
                                        "--no-sandbox",
                                        "--disable-gpu",
                                        "--hide-scrollbars",  // on a phone they take no width
                                        "--no-first-run",
                                        "--disable-dev-shm-usage",
                                        "--enable-logging=stderr",
                                        "--v=0",
                                        "--user-data-dir=" + (directory_ / "profile").string()};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back("file://" + page.string());
    ProcessOptions process;
    process.time_limit_seconds = kTimeLimit;
    return run_process(command, process);
  }

  std::string dom(const Path& page) {
    const ProcessResult result = browse({"--virtual-time-budget=5000", "--dump-dom"}, page);
    EXPECT_TRUE(result.succeeded()) << result.errors;
    EXPECT_THAT(result.errors, Not(HasSubstr("CONSOLE")));  // errors and warnings of the page
    return result.output;
  }

  // The width of the page on a screen of `width` pixels. The browser's own window is never narrower
  // than 500, so the page is put in a frame, and sends its width to the page around it.
  int64_t width_on(int width) {
    const Path framed = page_.parent_path() / "framed.html", around = directory_ / "around.html";
    write_file_atomically(
        framed, replaced(read_file(page_), "</body>",
                         "<script>onload = () => parent.postMessage(Math.max("
                         "document.documentElement.scrollWidth, document.body.scrollWidth), '*');"
                         "</script></body>"));
    write_file_atomically(
        around,
        "<!DOCTYPE html><body><p id=\"width\"></p><script>onmessage = (event) => "
        "document.getElementById('width').textContent = 'width ' + event.data;</script>"
        "<iframe src=\"report/framed.html\" style=\"border:0;width:" +
            std::to_string(width) + "px;height:800px\"></iframe></body>");
    const std::string text = dom(around);
    std::smatch found;
    if (!std::regex_search(text, found, std::regex("width (\\d+)</p>"))) return -1;
    return std::stoll(found[1]);
  }

  TemporaryDirectory directory_;
  Path sweep_ = directory_ / "sweep", page_;
};

TEST_F(Browser, ThePageHasTheRowsAndCurvesAndNoErrors) {
  const std::string text = dom(page_);
  EXPECT_EQ(count(text, "<span class=\"state "), 3u);
  EXPECT_EQ(count(text, "<figure"), 4u);
  // Training loss, validation loss and throughput of three runs, the consensus distance of one.
  EXPECT_EQ(count(text, "<g class=\"curve"), 10u);
  EXPECT_EQ(count(text, "<g class=\"ring"), 2u);
  EXPECT_THAT(text, HasSubstr("class=\"values\""));  // the script ran
  EXPECT_THAT(text, HasSubstr("optimizer.<wbr>lr"));
}

TEST_F(Browser, ThePointerShowsTheValuesOfTheRunsShown) {
  const Path pointed = directory_ / "pointed.html";
  write_file_atomically(
      pointed, replaced(read_file(page_), "</body>",
                        "<script>document.getElementById('show-2').click();"
                        "const plot = document.querySelector('#train_loss .plot');"
                        "const box = plot.getBoundingClientRect();"
                        "plot.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + "
                        "0.98 * box.width}));document.title = getComputedStyle("
                        "document.querySelector('#train_loss .run-2')).display;</script></body>"));
  const std::string text = dom(pointed);
  EXPECT_EQ(count(text, "<b>3.2500</b>"), 2u);  // of the two runs still shown, in update 4
  EXPECT_THAT(text, HasSubstr("<title>none</title>"));
}

TEST_F(Browser, ThePageIsNoWiderThanAPhone) {
  EXPECT_EQ(width_on(390), 390);
  EXPECT_EQ(width_on(320), 320);
}

TEST_F(Browser, ThePagePrints) {
  const Path pdf = directory_ / "page.pdf";
  const ProcessResult result =
      browse({"--no-pdf-header-footer", "--print-to-pdf=" + pdf.string()}, page_);
  EXPECT_TRUE(result.succeeded()) << result.errors;
  const std::string content = read_file(pdf);
  EXPECT_TRUE(content.starts_with("%PDF"));
  EXPECT_GT(content.size(), 10000u);
}

}  // namespace
}  // namespace saddle::report
