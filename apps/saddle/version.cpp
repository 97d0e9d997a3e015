#include "base/environment.h"
#include "base/exit_codes.h"
#include "commands.h"
#include "train/libraries.h"

namespace saddle::app {

void add_version(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("version", "Describe this program and this machine, as JSON");
  command->callback([&action] {
    action = [] {
      const Json description = {{"build", build_description()},
                                {"libraries", train::library_versions()},
                                {"machine", machine_description()}};
      print_data(json_text(description, 2) + "\n");
      return kExitSuccess;
    };
  });
}

}  // namespace saddle::app
