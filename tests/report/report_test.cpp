// Reports of planted runs: which runs are found, what the report says, and which files it writes.
#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/exit_codes.h"
#include "report/charts.h"
#include "report/columns.h"
#include "report/html.h"
#include "report/planted_run.h"
#include "report/settings_table.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "support/temporary_directory.h"

namespace saddle::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using ReportedRun = report::Run;  // ::testing::Test also has a Run

class Report : public ::testing::Test {
 protected:
  std::vector<ReportedRun> runs() { return read_runs(find_runs({sweep_})); }
  ReportedRun only() {
    const std::vector<ReportedRun> found = runs();
    EXPECT_EQ(found.size(), 1u);
    return found.at(0);
  }
  ReportOutcome report() {
    Log log = Log::silent();
    return write_report({.runs = {sweep_}, .output = output_}, log);
  }
  // Every file under a directory, with its contents.
  static std::map<std::string, std::string> contents(const Path& directory) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      if (entry.is_regular_file()) files[entry.path().string()] = read_file(entry.path());
    }
    return files;
  }

  TemporaryDirectory directory_;
  Path sweep_ = directory_ / "sweep";
  Path output_ = directory_ / "out" / "report";
};

TEST_F(Report, RunsAreFoundOneLevelDeepInTheOrderOfTheirNumbers) {
  for (const char* name : {"run-10", "run-9", "run-2", "a"}) PlantedRun().write(sweep_ / name);
  PlantedRun().write(sweep_ / "group" / "too-deep");
  for (const char* aside : {"a.unfinished", "a.unfinished-2", "a.unfinished-10"}) {
    PlantedRun().write(sweep_ / aside);
  }
  PlantedRun().write(sweep_ / "a.unfinished-b");
  make_directories(sweep_ / "nothing");
  PlantedRun().write(directory_ / "alone");
  std::vector<std::string> names;
  for (const Path& run : find_runs({directory_ / "alone", sweep_, sweep_ / "a"})) {
    names.push_back(run.filename());
  }
  EXPECT_THAT(names, ElementsAre("alone", "a", "a.unfinished-b", "run-2", "run-9", "run-10"));
  EXPECT_EQ(find_runs({sweep_ / "a.unfinished-2"}).size(), 1U) << "it was asked for";
  expect_error(ErrorKind::kData, {"nothing", "holds no run"},
               [&] { find_runs({sweep_ / "nothing"}); });
  expect_error(ErrorKind::kIo, {"nowhere"}, [&] { find_runs({sweep_ / "nowhere"}); });
}

TEST_F(Report, TheLinesOfARunAreNotKeptInMemory) {
  PlantedRun().write(sweep_ / "run");
  const ReportedRun run = only();
  EXPECT_EQ(run.train.size(), 4u);
  EXPECT_TRUE(run.record.updates.empty());
  EXPECT_TRUE(run.record.evaluations.empty());
}

TEST_F(Report, SecondsMissingFromTheResultAreOmitted) {
  PlantedRun().write(sweep_ / "run");
  Json result = read_json(sweep_ / "run" / "result.json");
  result["seconds"].erase("evaluation");
  write_json(sweep_ / "run" / "result.json", result);
  EXPECT_FALSE(only().seconds.has_value());
  EXPECT_THAT(terminal_table(runs()), Not(HasSubstr("not finite")));
}

TEST_F(Report, RunsWithTheSameNameAreDistinguishedByTheirParents) {
  PlantedRun().write(sweep_ / "small");
  PlantedRun().write(directory_ / "other" / "small");
  const std::vector<ReportedRun> found = read_runs(find_runs({sweep_, directory_ / "other"}));
  EXPECT_EQ(found[0].name, "sweep/small");
  EXPECT_EQ(found[1].name, "other/small");
}

TEST_F(Report, TheNumbersOfAFinishedRun) {
  PlantedRun().write(sweep_ / "run");
  const ReportedRun run = only();
  EXPECT_EQ(run.status, Status::kFinished);
  EXPECT_EQ(run.step, 4);
  EXPECT_EQ(run.steps, 4);
  EXPECT_EQ(run.tokens, 4000);
  EXPECT_EQ(run.train_loss, 3.25);
  EXPECT_EQ(run.subset_loss, 3.75);
  EXPECT_EQ(run.validation_loss, 3.5);
  EXPECT_EQ(run.perplexity, 33.5);
  EXPECT_EQ(run.tokens_per_second, 320.5);
  EXPECT_EQ(run.elapsed_tokens_per_second, 250);
  EXPECT_EQ(run.peak_memory_bytes, 3 << 20);
  EXPECT_EQ(run.seconds, 16);
  EXPECT_FALSE(run.consensus_distance.has_value());
  EXPECT_EQ(run.train.size(), 4u);
  EXPECT_EQ(run.subset.size(), 2u);
  EXPECT_TRUE(run.notes.empty());
}

TEST_F(Report, TheStateOfAnUnfinishedRunComesFromItsLogAndLock) {
  PlantedRun run;
  run.finished = false;
  run.losses.resize(2);
  run.write(sweep_ / "run");
  EXPECT_EQ(only().status, Status::kStopped);
  EXPECT_THAT(only().notes, ElementsAre(HasSubstr("without a message")));
  run.log = "signal 15: stopping after 2 updates";
  run.write(sweep_ / "run");
  EXPECT_EQ(only().status, Status::kStopped);
  EXPECT_THAT(only().notes, ElementsAre(run.log));
  run.log = "training ended after 2 updates: the loss is nan";
  run.write(sweep_ / "run");
  EXPECT_EQ(only().status, Status::kFailed);
  EXPECT_THAT(only().notes, ElementsAre(run.log));
  {
    const FileLock lock(sweep_ / "run" / "lock", "a test");
    EXPECT_EQ(only().status, Status::kRunning);
  }
  EXPECT_EQ(only().status, Status::kFailed);
  EXPECT_EQ(only().step, 2);
  EXPECT_EQ(only().tokens, 2000);
  EXPECT_DOUBLE_EQ(*only().tokens_per_second, 2000 / 15.0);  // 10 + 5 seconds
  EXPECT_FALSE(only().validation_loss.has_value());
  EXPECT_FALSE(only().peak_memory_bytes.has_value());
}

TEST_F(Report, NumbersThatAreNotFiniteAreGapsAndNotes) {
  PlantedRun run;
  run.losses[1] = nullptr;
  run.losses[3] = nullptr;
  run.distances = {1.0, nullptr, 0.5, 0.25};
  run.write(sweep_ / "run");
  const ReportedRun read = only();
  EXPECT_TRUE(std::isnan(*read.train_loss));
  EXPECT_EQ(read.consensus_distance, 0.25);
  EXPECT_TRUE(std::isnan(read.train[1].value));
  EXPECT_THAT(read.notes, ElementsAre("2 of 4 logged training losses are not finite",
                                      "1 of 4 logged consensus distances is not finite"));
  const std::string table = terminal_table({read});
  EXPECT_THAT(table, HasSubstr("not finite"));
  EXPECT_THAT(csv_text({read}), HasSubstr(",nan,3.75,"));
  EXPECT_TRUE(rows_json({read})[0]["train_loss"].is_null());
  EXPECT_EQ(make_charts({read}).size(), 4u);
  const std::string page = read_file(report().page);
  EXPECT_THAT(page, HasSubstr("[2000,null]"));
  EXPECT_THAT(read_file(output_ / "figures" / "figures.dat"), HasSubstr("2000 NaN\n"));
}

TEST_F(Report, EmptyAndDamagedRunsAlsoGetRows) {
  PlantedRun().write(sweep_ / "a-good");
  PlantedRun empty;
  empty.finished = false;
  empty.losses.clear();
  empty.write(sweep_ / "b-empty");
  make_directories(sweep_ / "c-begun");
  write_file_atomically(sweep_ / "c-begun" / "run.log", "");
  PlantedRun().write(sweep_ / "d-damaged");
  write_file_atomically(sweep_ / "d-damaged" / "metrics.jsonl", "nonsense\n{}\n");
  PlantedRun().write(sweep_ / "e-cut");
  std::ofstream(sweep_ / "e-cut" / "metrics.jsonl", std::ios::app) << R"({"type":"train","st)";
  const std::vector<ReportedRun> found = runs();
  ASSERT_EQ(found.size(), 5u);
  EXPECT_THAT(found[1].notes, ElementsAre(HasSubstr("without a message"), "no update was logged"));
  EXPECT_THAT(found[2].notes, ElementsAre(HasSubstr("without"), "no settings were recorded"));
  EXPECT_EQ(found[3].status, Status::kUnreadable);
  EXPECT_THAT(found[3].notes, ElementsAre(HasSubstr("metrics.jsonl:1")));
  EXPECT_EQ(found[4].status, Status::kFinished);
  EXPECT_EQ(found[4].train.size(), 4u);
  report();
  const Json record = read_json(output_ / "report.json");
  EXPECT_EQ(record["runs"].size(), 5u);
  EXPECT_TRUE(record["runs"][1]["train_loss"].is_null());
}

TEST_F(Report, ARunOfEndlessEpochsIsUnreadable) {
  PlantedRun run;
  run.settings.training.max_tokens.reset();
  run.settings.training.tokens_per_parameter = 1e300;
  run.settings.training.epoch_tokens = 1;
  run.write(sweep_ / "a");
  const std::vector<ReportedRun> found = runs();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].status, Status::kUnreadable);
  EXPECT_THAT(found[0].notes, ElementsAre(HasSubstr("tokens_per_parameter")));
}

TEST_F(Report, DifferingSettingsAreTheChangedOnes) {
  PlantedRun().write(sweep_ / "a");
  PlantedRun other;
  other.settings.optimizer.lr = 0.25;
  other.settings.runtime.compile = false;
  other.settings.runtime.output_dir = "elsewhere";
  other.write(sweep_ / "b");
  const SettingsTable table = compare_settings(runs());
  ASSERT_EQ(table.differing.size(), 2u);
  EXPECT_EQ(table.differing[0].key, "optimizer.lr");
  EXPECT_TRUE(table.differing[0].decides_numbers);
  EXPECT_THAT(table.differing[0].values, ElementsAre("0.001", "0.25"));
  EXPECT_EQ(table.differing[1].key, "runtime.compile");
  EXPECT_FALSE(table.differing[1].decides_numbers);
  EXPECT_THAT(table.common, ::testing::Contains(::testing::Pair("build revision", "aaaa")));
}

TEST_F(Report, LongCurvesBecomeMeansAndKeepTheirGaps) {
  Curve curve;
  for (int i = 0; i < 1000; ++i) curve.push_back({i * 1.0, i == 500 ? NAN : i * 2.0});
  const Curve thin = thinned(curve, 100);
  ASSERT_EQ(thin.size(), 100u);
  EXPECT_DOUBLE_EQ(thin[1].tokens, 14.5);  // of 10 .. 19
  EXPECT_DOUBLE_EQ(thin[1].value, 29);
  EXPECT_TRUE(std::isnan(thin[50].value));
  EXPECT_EQ(thinned(thin, 100).size(), 100u);
}

TEST_F(Report, TicksAreRoundNumbersWithinTheAxis) {
  EXPECT_THAT(ticks(0, 4000, 5), ElementsAre(0, 1000, 2000, 3000, 4000));
  EXPECT_THAT(ticks(3.1, 5.2, 5), ElementsAre(3.5, 4, 4.5, 5));
  EXPECT_THAT(logarithmic_ticks(0.5, 3000), ElementsAre(1, 10, 100, 1000));
  for (const double scale : {1e-9, 1.0, 1e12}) {
    EXPECT_GE(ticks(-3 * scale, 7 * scale, 5).size(), 4u);
  }
}

TEST_F(Report, EveryTextOfARunIsEscaped) {
  PlantedRun run;
  run.settings.data.cache = "</script><b>\"'&";
  run.finished = false;
  run.log = "training ended after 1 updates: <i>\xFF</i>";
  run.write(sweep_ / "<img src=x onerror=alert(1)>'\"&%#?");
  PlantedRun().write(sweep_ / "plain");
  const std::string page = read_file(report().page);
  for (const char* tag : {"<img", "<b>\"", "<i>", "</script><b>", "\xFF"}) {
    EXPECT_THAT(page, Not(HasSubstr(tag)));
  }
  EXPECT_THAT(page, HasSubstr("&lt;img src=x onerror=alert(1)&gt;'&quot;&amp;%#?"));
  EXPECT_THAT(page, HasSubstr("%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E%27%22%26%25%23%3F"));
  EXPECT_EQ(html("a\xC3\xA4\xED\xA0\x80z"), "a\xC3\xA4\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
}

TEST_F(Report, ANameThatIsNotTextStaysInItsLineAndField) {
  PlantedRun().write(sweep_ / "x\x1b[2J\n\xFF");
  PlantedRun().write(sweep_ / "plain");
  const ReportOutcome outcome = report();
  EXPECT_THAT(outcome.table, HasSubstr("  x\\x1b[2J\\x0a\\xff "));
  EXPECT_THAT(outcome.table, Not(HasSubstr("\x1b")));
  const Path output = outcome.page.parent_path();
  EXPECT_THAT(read_file(output / "report.csv"), HasSubstr("\"x\x1b[2J\n\xEF\xBF\xBD\","));
  EXPECT_THAT(read_file(output / "report.json"), HasSubstr("\"x\\u001b[2J\\n\xEF\xBF\xBD\""));
}

TEST_F(Report, LinksAreRelative) {
  EXPECT_EQ(relative_url(directory_ / "a" / "b c", directory_ / "out" / "x"), "../../a/b%20c");
  PlantedRun().write(sweep_ / "run");
  const std::string page = read_file(report().page);
  EXPECT_THAT(page, HasSubstr("href=\"../../sweep/run/metrics.jsonl\""));
  for (const char* elsewhere :
       {"href=\"/", "href=\"http", "href=\"file", "src=", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(elsewhere)));
  }
}

TEST_F(Report, ASecondReportReplacesOnlyItsOwnFiles) {
  PlantedRun several;
  several.distances = {4.0, 2.0, 1.0, 0.5};
  several.write(sweep_ / "run");
  const auto before = contents(sweep_);
  report();
  EXPECT_EQ(contents(sweep_), before);  // runs are only read
  EXPECT_TRUE(std::filesystem::exists(output_ / "figures" / "consensus_distance.pdf"));
  write_file_atomically(output_ / "mine.txt", "mine");
  write_file_atomically(output_ / "figures" / "mine.png", "mine");
  write_file_atomically(output_ / ".mine.tmp-1-0", "mine");
  PlantedRun().write(sweep_ / "run");
  PlantedRun().write(sweep_ / "run-2");
  report();
  EXPECT_EQ(read_file(output_ / "mine.txt"), "mine");
  EXPECT_EQ(read_file(output_ / "figures" / "mine.png"), "mine");
  EXPECT_EQ(read_file(output_ / ".mine.tmp-1-0"), "mine");
  EXPECT_FALSE(std::filesystem::exists(output_ / "figures" / "consensus_distance.pdf"));
  EXPECT_EQ(read_json(output_ / "report.json")["runs"].size(), 2u);
}

TEST_F(Report, FilesNotMadeByAReportAreNotReplaced) {
  PlantedRun().write(sweep_ / "run");
  make_directories(output_);
  write_file_atomically(output_ / "report.csv", "mine");
  expect_error(ErrorKind::kConfig, {"report.csv", "was not made by a report"}, [&] { report(); });
  EXPECT_EQ(read_file(output_ / "report.csv"), "mine");
  EXPECT_FALSE(std::filesystem::exists(output_ / "report.html"));
}

TEST_F(Report, TheCommandWritesTableFilesAndFigures) {
  PlantedRun().write(sweep_ / "run-1");
  PlantedRun().write(sweep_ / "run-2");
  const ProgramResult result =
      run_saddle("report --runs " + sweep_.string() + " --output " + output_.string());
  ASSERT_EQ(result.exit_code, kExitSuccess) << result.errors;
  EXPECT_EQ(result.output,
            terminal_table(runs()) + "\n" + (output_ / "report.html").string() + "\n");
  EXPECT_EQ(read_file(output_ / "report.csv"), csv_text(runs()));
  for (const char* name : {"train_loss", "validation_loss", "throughput"}) {
    const Path file = output_ / "figures" / name;
    EXPECT_TRUE(read_file(file.string() + ".png").starts_with("\x89PNG"));
    EXPECT_TRUE(read_file(file.string() + ".pdf").starts_with("%PDF"));
  }
  EXPECT_EQ(run_saddle("report --output x").exit_code, 2);
}

// A second report does not take the first one for a run.
TEST_F(Report, WithoutAnOutputItIsWrittenIntoTheSingleDirectory) {
  PlantedRun().write(sweep_ / "run-1");
  PlantedRun().write(sweep_ / "run-2");
  for (int time = 0; time < 2; ++time) {
    const ProgramResult result = run_saddle("report --runs " + sweep_.string());
    ASSERT_EQ(result.exit_code, kExitSuccess) << result.errors;
    EXPECT_THAT(result.output, HasSubstr((sweep_ / "report" / "report.html").string()));
    EXPECT_EQ(read_json(sweep_ / "report" / "report.json")["runs"].size(), 2u);
  }
  const std::string two = (sweep_ / "run-1").string() + " " + (sweep_ / "run-2").string();
  const ProgramResult several = run_saddle("report --runs " + two);
  EXPECT_EQ(several.exit_code, exit_code(ErrorKind::kUsage));
  EXPECT_THAT(several.errors, HasSubstr("--output is required"));
}

TEST_F(Report, WithoutGnuplotThePageIsStillWritten) {
  PlantedRun().write(sweep_ / "run");
  const std::string arguments =
      "report --runs " + sweep_.string() + " --output " + output_.string();
  const std::string command = "PATH=/nowhere '" SADDLE_PROGRAM "' " + arguments + " 2>/dev/null >" +
                              (directory_ / "table").string();
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), exit_code(ErrorKind::kDevice));
  EXPECT_TRUE(std::filesystem::exists(output_ / "report.csv"));
  EXPECT_THAT(read_file(output_ / "report.html"), Not(HasSubstr(".png")));
  EXPECT_THAT(read_file(directory_ / "table"), HasSubstr(terminal_table(runs())));
}

}  // namespace
}  // namespace saddle::report
