#include "report/report.h"

#include <memory>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/text.h"
#include "commands.h"

namespace saddle::app {
namespace {

struct ReportCommand {
  std::vector<std::string> runs;
  std::string output;

  Path where() const {
    if (!output.empty()) return output;
    if (runs.size() == 1) return Path(runs[0]) / "report";
    fail(ErrorKind::kUsage, "--output is required with more than one directory in --runs");
  }

  int run() const {
    Log log;
    const report::ReportOutcome outcome =
        report::write_report({.runs = {runs.begin(), runs.end()}, .output = where()}, log);
    print(fmt::format("{}\n{}\n", outcome.table, printable(outcome.page.string())));
    if (outcome.no_figures) throw Error(*outcome.no_figures);
    return kExitSuccess;
  }
};

}  // namespace

void add_report(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "report", "Compare losses and throughput of many runs: a table, figures, a page");
  const auto values = std::make_shared<ReportCommand>();
  command
      ->add_option("--runs", values->runs,
                   "Runs, finished or not, and directories that contain runs; may be repeated")
      ->type_name("DIRECTORY...")
      ->required();
  command
      ->add_option("--output", values->output,
                   "Directory for report.html, report.csv, report.json and figures, created if "
                   "missing; default for a single directory in --runs: its subdirectory `report`")
      ->type_name("DIRECTORY");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
