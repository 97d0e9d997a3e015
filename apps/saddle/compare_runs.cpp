#include "train/compare_runs.h"

#include <memory>

#include "base/exit_codes.h"
#include "commands.h"

namespace saddle::app {
namespace {

struct CompareCommand {
  std::string a, b, json_file;

  int run() const {
    const Json record = train::compare_runs(a, b);
    if (!json_file.empty()) write_json(json_file, record);
    print(train::comparison_text(record));
    return kExitSuccess;
  }
};

}  // namespace

void add_compare_runs(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "compare-runs", "Show the differences between two runs, and compare their speed and losses");
  const auto values = std::make_shared<CompareCommand>();
  command->add_option("A", values->a, "Directory of a run, finished or not")
      ->type_name("DIRECTORY")
      ->required();
  command->add_option("B", values->b, "Directory of the run to compare with it")
      ->type_name("DIRECTORY")
      ->required();
  command->add_option("--json", values->json_file, "Also write the comparison to FILE as JSON")
      ->type_name("FILE");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
