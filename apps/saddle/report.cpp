#include "report/report.h"

#include <memory>

#include "base/exit_codes.h"
#include "base/text.h"
#include "commands.h"

namespace saddle::app {
namespace {

struct ReportCommand {
  std::vector<std::string> runs;
  std::string output;

  int run() const {
    Log log;
    const report::ReportOutcome outcome =
        report::write_report({.runs = {runs.begin(), runs.end()}, .output = output}, log);
    print(fmt::format("{}\n{}\n", outcome.table, printable(outcome.page.string())));
    if (outcome.no_figures) throw Error(*outcome.no_figures);
    return kExitSuccess;
  }
};

}  // namespace

void add_report(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "report", "Lay losses and throughput of many runs side by side: a table, figures, a page");
  const auto values = std::make_shared<ReportCommand>();
  command
      ->add_option("--runs", values->runs,
                   "Runs, finished or not, and directories that hold runs; may be repeated")
      ->type_name("DIRECTORY...")
      ->required();
  command
      ->add_option("--output", values->output,
                   "Directory for report.html, report.csv, report.json and figures, made when "
                   "missing")
      ->type_name("DIRECTORY")
      ->required();
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
