#include "output_files.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/write_target.h"

namespace saddle::app {
namespace {

// Options whose value, if it is no directory, is a file to write.
constexpr std::array<std::string_view, 5> kOutputs = {"--output", "--json", "--logits",
                                                      "--config-output", "--trace"};

struct Named {
  std::string option;
  std::string value;
  bool is_output = false;
};

std::vector<Named> values_of(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::vector<Named> named;
  for (const CLI::Option* option : command->get_options()) {
    const std::string name = option->get_name();
    const bool is_output = std::ranges::find(kOutputs, name) != kOutputs.end();
    for (const std::string& value : option->results()) named.push_back({name, value, is_output});
  }
  return named;
}

bool is_ordinary_file(const std::string& value) {
  std::error_code ignored;  // most values of options are no names of files
  return std::filesystem::is_regular_file(value, ignored);
}

// Whether both would be the same file, which need not exist.
bool same_file(const std::string& output, const std::string& other) {
  std::error_code code;
  if (is_ordinary_file(output) && is_ordinary_file(other)) {
    return std::filesystem::equivalent(output, other, code) && !code;
  }
  if (std::filesystem::exists(output, code) || std::filesystem::exists(other, code)) return false;
  const Path a = std::filesystem::weakly_canonical(std::filesystem::absolute(output), code);
  const Path b = std::filesystem::weakly_canonical(std::filesystem::absolute(other), code);
  return !code && a == b;
}

}  // namespace

void check_output_files(const CLI::App& program) {
  const std::vector<Named> named = values_of(program);
  for (const Named& output : named) {
    if (!output.is_output || output.value.empty()) continue;
    for (const Named& other : named) {
      if (&other == &output || (other.is_output && &other < &output)) continue;
      if (!same_file(output.value, other.value)) continue;
      fail(ErrorKind::kUsage, "{} and {} are the same file, '{}': give {} another name",
           output.option, other.option, other.value, output.option);
    }
  }
}

}  // namespace saddle::app
