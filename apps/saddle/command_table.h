// The commands and options of the program as CLI11 has them. The manual page and the shell
// completion are made from this table, so they agree with --help.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace saddle::app {

struct OptionRow {
  std::vector<std::string> names;    // with their dashes: -h, --help
  std::string value;                 // what --help calls the value: FILE; empty for a flag
  std::vector<std::string> choices;  // all allowed values, if there are only a few
  bool many = false;                 // accepts any number of words
  std::string details;               // what --help prints after the names: type, default, REQUIRED
  std::string description;
};

struct CommandRow {
  std::string words;  // "tokenizer train"; empty for the program itself
  std::string description;
  std::string footer;  // empty if it is that of the command above
  std::vector<OptionRow> options;
  std::vector<std::string> subcommands;  // their names
};

// Returns the program itself, then its commands in order, each followed by its own commands.
std::vector<CommandRow> command_table(const CLI::App& program);

}  // namespace saddle::app
