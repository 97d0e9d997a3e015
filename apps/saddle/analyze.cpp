// analyze: turns the options of the command line into the library's, and prints the table.
#include "analysis/analysis.h"

#include <memory>

#include "analysis/results_summary.h"
#include "analyze_command.h"
#include "base/exit_codes.h"
#include "base/stop.h"
#include "base/text.h"
#include "commands.h"

namespace saddle::app {
namespace {

struct AnalyzeCommand : AnalyzeValues {
  int run() const {
    const analysis::AnalysisOptions request = resolved();
    const StopSignals signals;
    Log log;
    const analysis::AnalysisOutcome outcome = analysis::run_analysis(
        request, [&signals] { return signals.requested(); }, log);
    log.finish_progress();
    print(fmt::format("{}{} cases measured, {} reused; {}\n", analysis::summary_text(outcome.cases),
                      outcome.measured, outcome.reused,
                      printable((request.output / "summary.csv").string())));
    return outcome.completed ? kExitSuccess : kExitStopped;
  }
};

}  // namespace

void add_analyze(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "analyze", "Measure curvature along gradient noise, random and given directions");
  const auto values = std::make_shared<AnalyzeCommand>();
  add_analysis_options(*command, *values);
  command->footer(
      "The settings are those of resolved.yaml in the run's directory. The same command continues "
      "an\ninterrupted analysis; further checkpoints and cases may be added.");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
