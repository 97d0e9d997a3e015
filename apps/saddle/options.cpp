#include "config/options.h"

#include "base/exit_codes.h"
#include "commands.h"

namespace saddle::app {

void add_options(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("options", "Print every setting with its default and its meaning");
  command->footer("The output is the page docs/options.md (Markdown).");
  command->callback([&action] {
    action = [] {
      print(config::options_markdown());
      return kExitSuccess;
    };
  });
}

}  // namespace saddle::app
