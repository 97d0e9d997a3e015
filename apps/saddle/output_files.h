// Output files of a command that would destroy each other or an input.
#pragma once

#include <CLI/CLI.hpp>

namespace saddle::app {

// Compares the files that the given output options of the command name with each other and with
// those that its other options name, links followed. Errors: kUsage if two are the same ordinary
// file.
void check_output_files(const CLI::App& program);

}  // namespace saddle::app
