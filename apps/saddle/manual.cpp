// manual: the manual page, made from the commands, the settings and the exit codes.
#include <string>

#include "base/environment.h"
#include "base/exit_codes.h"
#include "command_table.h"
#include "commands.h"
#include "config/fields.h"

namespace saddle::app {
namespace {

// Returns text escaped for groff (groff_char(7)), on one line: no requests, and no quotes or dashes
// that a terminal would replace by characters that cannot be typed.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '\n':
        out += ' ';
        break;
      default:
        out += c;
    }
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string paragraph(std::string_view text) {
  return text.empty() ? "" : fmt::format(".PP\n{}\n", roff(text));
}

std::string options_text(const CommandRow& command) {
  std::string text;
  for (const OptionRow& option : command.options) {
    text += fmt::format(".TP\n\\fB{}\\fR {}\n{}\n",
                        roff(fmt::format("{}", fmt::join(option.names, ", "))),
                        roff(option.details), roff(option.description));
  }
  return text;
}

std::string commands_text(const std::vector<CommandRow>& commands) {
  std::string text = ".SH COMMANDS\n";
  for (const CommandRow& command : commands) {
    if (command.words.empty()) continue;  // the program itself
    text += fmt::format(".SS saddle {}\n", roff(command.words)) + roff(command.description) + ".\n";
    if (!command.subcommands.empty()) {
      text += paragraph(fmt::format("Its commands are described below: {}.",
                                    fmt::join(command.subcommands, ", ")));
    }
    text += options_text(command) + paragraph(command.footer);
  }
  return text;
}

std::string settings_text() {
  std::string text = ".SH SETTINGS\n";
  text +=
      roff(
          "Settings are given in YAML files (--config FILE, merged in order) and with --set "
          "section.name=value, which is applied after all files. Settings marked as fixed decide "
          "the numbers of a run: it can be resumed only with the same values.") +
      "\n";
  const std::vector<config::Field> fields = config::setting_fields();
  for (const auto& [section, meaning] : config::setting_sections()) {
    text += fmt::format(".SS {}\n{}\n", roff(section), roff(meaning));
    for (const config::Field& field : fields) {
      if (field.section != section) continue;
      text +=
          fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(field.key()),
                      roff(fmt::format("{}. Allowed: {}. Default: {}.{}", field.meaning,
                                       field.allowed, config::plain_text(field, config::Settings{}),
                                       field.role == config::Role::kRecipe ? " Fixed." : "")));
    }
  }
  return text;
}

std::string exit_status_text() {
  std::string text = ".SH EXIT STATUS\n";
  text += roff(
              "A command that fails prints one line on standard error and exits with the code of "
              "that kind "
              "of error. docs/exit-codes.md explains what to do about each.") +
          "\n";
  for (const ExitCode& code : exit_codes()) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", code.code, roff(code.name));
  }
  return text;
}

std::string files_text() {
  return ".SH FILES\n"
         "Under the prefix of the installation, which is /usr for a Debian package:\n"
         ".TP\n\\fIshare/saddle/configs\\fR\nYAML files of settings to begin with, for "
         "\\-\\-config\n"
         ".TP\n\\fIshare/doc/saddle\\fR\nREADME.md and the documentation, docs/\n";
}

std::string manual(const CLI::App& program) {
  const std::vector<CommandRow> commands = command_table(program);
  const CommandRow& whole = commands.front();
  const std::string version = build_description().at("version").get<std::string>();
  return fmt::format(".TH SADDLE 1 \"\" \"saddle {}\" \"User Commands\"\n.nh\n.ad l\n",
                     roff(version)) +
         ".SH NAME\n"
         "saddle \\- train small language models and measure the curvature of their loss\n"
         ".SH SYNOPSIS\n"
         "\\fBsaddle\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
         ".SH DESCRIPTION\n" +
         roff(whole.description) + "\n" + paragraph(whole.footer) + options_text(whole) +
         commands_text(commands) + settings_text() + exit_status_text() + files_text() +
         ".SH SEE ALSO\ngnuplot(1), sbatch(1)\n";
}

}  // namespace

void add_manual(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("manual", "Print the manual page, for man and other readers of roff");
  command->footer("`saddle manual | man -l -` shows it.");
  command->callback([&action, &program] {
    action = [&program] {
      print(manual(program));
      return kExitSuccess;
    };
  });
}

}  // namespace saddle::app
