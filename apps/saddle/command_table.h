// The commands and options of the program as its command line reader has them: what the manual page
// and the shell completion are made from, so that they say what --help says.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace saddle::app {

struct OptionRow {
  std::vector<std::string> names;    // with their dashes: -h, --help
  std::string value;                 // what --help calls the value: FILE; empty for a flag
  std::vector<std::string> choices;  // every value allowed, where there are only a few
  bool many = false;                 // takes any number of words
  std::string details;               // what --help prints after the names: type, default, REQUIRED
  std::string description;
};

struct CommandRow {
  std::string words;  // "tokenizer train"; empty for the program itself
  std::string description;
  std::string footer;  // empty where it is that of the command above
  std::vector<OptionRow> options;
  std::vector<std::string> subcommands;  // their names
};

// The program itself, then its commands in their order, each followed by its own commands.
std::vector<CommandRow> command_table(const CLI::App& program);

}  // namespace saddle::app
