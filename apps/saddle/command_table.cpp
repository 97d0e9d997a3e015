#include "command_table.h"

#include <sstream>

namespace saddle::app {
namespace {

// Returns the names in {...}, CLI11's description of a set of allowed values.
std::vector<std::string> choices_in(const std::string& type) {
  const size_t open = type.find('{');
  const size_t close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

OptionRow option_row(const CLI::Option& option) {
  OptionRow row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (option.get_type_size() != 0) {
    const std::string type = option.get_type_name();
    row.value = type.substr(0, type.find(':'));
    row.choices = choices_in(type);
    row.many = option.get_expected_max() == CLI::detail::expected_max_vector_size &&
               option.get_allow_extra_args();
  }
  row.details = CLI::detail::trim_copy(CLI::Formatter().make_option_opts(&option));
  row.description = option.get_description();
  return row;
}

void add_options(const CLI::App& command, CommandRow& row) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) row.options.push_back(option_row(*option));
  }
}

void add_rows(const CLI::App& command, const std::string& words, std::vector<CommandRow>& rows) {
  CommandRow row;
  row.words = words;
  row.description = command.get_description();
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr || command.get_footer() != parent->get_footer()) {  // a footer is inherited
    row.footer = command.get_footer();
  }
  add_options(command, row);
  std::vector<const CLI::App*> subcommands;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name().empty()) {  // a group of options, stored by CLI11 as a nested command
      add_options(*sub, row);
    } else {
      subcommands.push_back(sub);
      row.subcommands.push_back(sub->get_name());
    }
  }
  rows.push_back(std::move(row));
  for (const CLI::App* sub : subcommands) {
    add_rows(*sub, words.empty() ? sub->get_name() : words + " " + sub->get_name(), rows);
  }
}

}  // namespace

std::vector<CommandRow> command_table(const CLI::App& program) {
  std::vector<CommandRow> rows;
  add_rows(program, "", rows);
  return rows;
}

}  // namespace saddle::app
