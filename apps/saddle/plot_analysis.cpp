#include <memory>

#include "analysis/figures.h"
#include "base/exit_codes.h"
#include "base/text.h"
#include "commands.h"

namespace saddle::app {
namespace {

struct PlotCommand {
  std::string output, run_directory;
  bool training_norms = false;

  int run() const {
    analysis::FigureOptions options;
    options.output = output;
    options.training_norms = training_norms;
    if (!run_directory.empty()) options.run = run_directory;
    Log log;
    std::string text;
    for (const Path& file : analysis::draw_figures(options, log))
      text += printable(file.string()) + "\n";
    print(text);
    return kExitSuccess;
  }
};

}  // namespace

void add_plot_analysis(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "plot-analysis", "Draw the figures of an analysis, as PNG and PDF, with gnuplot");
  const auto values = std::make_shared<PlotCommand>();
  command->add_option("--output", values->output, "The directory of results of saddle analyze")
      ->type_name("DIRECTORY")
      ->required();
  command->add_flag("--training-norms", values->training_norms,
                    "Also draw the gradient norms that training logged");
  command
      ->add_option("--run", values->run_directory,
                   "With --training-norms: directory of the run, if it was moved since")
      ->type_name("DIRECTORY");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
