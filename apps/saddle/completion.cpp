// completion: the words that a shell offers after `saddle` and the Tab key, made from the commands
// and the settings.
#include <cctype>
#include <string>

#include "base/exit_codes.h"
#include "command_table.h"
#include "commands.h"
#include "config/fields.h"

namespace saddle::app {
namespace {

// The values to offer for an option.
struct Offer {
  std::string kind = "none";         // none, file, directory or setting
  std::vector<std::string> words{};  // offered in addition
};

Offer offer(const OptionRow& option) {
  Offer offer;
  offer.words = option.choices;
  for (std::string part : CLI::detail::split(option.value, '|')) {
    while (part.ends_with('.') || part.ends_with(']')) part.pop_back();
    if (part.starts_with('[')) part.erase(0, 1);
    if (part == "FILE" || part == "PATH" || part == "MODEL") offer.kind = "file";
    if (part == "DIRECTORY" || part == "DIR") offer.kind = "directory";
    if (part.starts_with("KEY=")) offer.kind = "setting";
    const bool literal = !part.empty() && std::islower(static_cast<unsigned char>(part[0])) != 0;
    if (literal && option.choices.empty()) offer.words.push_back(part);
  }
  return offer;
}

// Returns the possible values of a setting that is a choice or a Boolean.
std::vector<std::string> setting_words(const config::Field& field) {
  const std::string& allowed = field.allowed;
  if (allowed == "true or false") return {"true", "false"};
  const std::string_view begin = "one of ";
  const size_t at = allowed.find(begin);
  if (at == std::string::npos) return {};
  std::vector<std::string> words;
  for (const std::string& word : CLI::detail::split(allowed.substr(at + begin.size()), ',')) {
    words.push_back(CLI::detail::trim_copy(word));
  }
  return words;
}

// Returns a case of bash for `pattern`, quoted.
std::string branch(const std::string& pattern, const std::string& work) {
  return fmt::format("    '{}') {} ;;\n", pattern, work);
}

std::string commands_function(const std::vector<CommandRow>& commands) {
  std::string text = "_saddle_command() {\n  case $1 in\n";
  for (const CommandRow& command : commands) {
    std::string options;
    for (const OptionRow& option : command.options) {
      options += fmt::format("{}{}", options.empty() ? "" : " ", fmt::join(option.names, " "));
    }
    text += branch(command.words, fmt::format("subcommands='{}' options='{}'",
                                              fmt::join(command.subcommands, " "), options));
  }
  return text + "  esac\n}\n\n";
}

std::string options_function(const std::vector<CommandRow>& commands) {
  std::string text = "_saddle_option() {\n  case $1 in\n";
  for (const CommandRow& command : commands) {
    for (const OptionRow& option : command.options) {
      if (option.value.empty()) continue;  // a flag
      const Offer value = offer(option);
      for (const std::string& name : option.names) {
        text += branch(command.words + " " + name,
                       fmt::format("takes={} kind={} words='{}'", option.many ? "many" : "one",
                                   value.kind, fmt::join(value.words, " ")));
      }
    }
  }
  return text + "  esac\n}\n\n";
}

std::string settings_function() {
  std::string keys;
  std::string cases;
  for (const config::Field& field : config::setting_fields()) {
    keys += fmt::format("{}{}=", keys.empty() ? "" : " ", field.key());
    const std::vector<std::string> words = setting_words(field);
    if (words.empty() && !field.text) continue;  // a number
    cases += branch(field.key(), fmt::format("kind={} words='{}'", field.text ? "file" : "none",
                                             fmt::join(words, " ")));
  }
  return "_saddle_setting() {\n  keys='" + keys + "'\n  case $1 in\n" + cases + "  esac\n}\n\n";
}

// bash divides words at '=' too (COMP_WORDBREAKS): `--set a.b=c` arrives as --set, a.b, = and c.
constexpr std::string_view kFunction =
    R"bash(# Offers files, directories or words, depending on kind and words; $1: the word so far.
_saddle_reply() {
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$1")
  case $kind in
    file)
      if [[ -z $words ]]; then
        compopt -o default 2>/dev/null
      else
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$1")
      fi
      ;;
    directory)
      compopt -o filenames 2>/dev/null
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$1")
      ;;
  esac
}

_saddle() {
  local current=${COMP_WORDS[COMP_CWORD]}
  local before=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
  local subcommands='' options='' takes='' kind=none words='' keys=''
  COMPREPLY=()
  if [[ $current == '=' ]]; then
    before+=('=')
    current=''
  fi

  # The command: the first word, or two if the first has commands of its own.
  local command='' at=0
  _saddle_command ''
  while ((at < ${#before[@]})) && [[ " $subcommands " == *" ${before[at]} "* ]]; do
    command+=${command:+ }${before[at]}
    subcommands='' options=''
    _saddle_command "$command"
    at=$((at + 1))
  done

  # The last option, and the words after it.
  local last=$((${#before[@]} - 1))
  while ((last >= at)) && [[ ${before[last]} != -* ]]; do
    last=$((last - 1))
  done
  local values=()
  if ((last >= at)); then
    _saddle_option "$command ${before[last]}"
    values=("${before[@]:last+1}")
    if [[ ${values[0]:-} == '=' ]]; then  # --name=value
      values=("${values[@]:1}")
    fi
  fi

  if [[ $kind == setting && ${#values[@]} == 2 && ${values[1]} == '=' ]]; then
    kind=none
    _saddle_setting "${values[0]}"
    _saddle_reply "$current"
  elif [[ -n $takes && $current != -* ]] && [[ $takes == many || ${#values[@]} == 0 ]]; then
    if [[ $kind == setting ]]; then
      _saddle_setting ''
      kind=none words=$keys
      compopt -o nospace 2>/dev/null
    fi
    _saddle_reply "$current"
  elif [[ $current == -* || -z $subcommands ]]; then
    kind=none words=$options
    _saddle_reply "$current"
  else
    kind=none words=$subcommands
    _saddle_reply "$current"
  fi
}

complete -F _saddle saddle
)bash";

std::string completion(const CLI::App& program) {
  const std::vector<CommandRow> commands = command_table(program);
  return "# Completion of saddle for bash 4 and later; the output of `saddle completion`.\n\n" +
         commands_function(commands) + options_function(commands) + settings_function() +
         std::string(kFunction);
}

}  // namespace

void add_completion(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "completion", "Print a bash script that completes commands, options and settings");
  command->footer(
      "`source <(saddle completion)` enables it in the current shell. The Debian package and\n"
      "`cmake --install` put it where the package bash-completion finds it.");
  command->callback([&action, &program] {
    action = [&program] {
      print_data(completion(program));
      return kExitSuccess;
    };
  });
}

}  // namespace saddle::app
