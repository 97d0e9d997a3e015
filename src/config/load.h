// Settings from YAML files and overrides, checked strictly, and back to YAML.
//
// A refused value is an Error of kind kConfig whose one line names its place (file:line, or
// the --set text), its full dotted key, what was found and what is allowed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "config/settings.h"

namespace saddle::config {

// The defaults, then each file in order, then each "dotted.key=value" in order; if a key has two
// values, the later one wins. Calls check_settings last.
// Errors: kIo when a file cannot be read; kUsage for an override without "="; kConfig for anything
// that is not a known setting with an allowed value; those of check_settings.
Settings load_settings(const std::vector<Path>& configs, const std::vector<std::string>& overrides);

// Applies the YAML text to `settings`; `where` names the text in messages. Does not call
// check_settings.
void apply_yaml(std::string_view text, std::string_view where, Settings& settings);

// Sets one "dotted.key=value". The value is read as YAML (null, [1, 2], 1e-3, "quoted"), except
// that text settings take it as written (null or nothing: null; [A, B] is a list where one is
// allowed). A group inside a section may be null, as in a file. Does not call check_settings.
// Errors: kUsage when there is no "=", otherwise kConfig.
void apply_override(std::string_view assignment, Settings& settings);

#ifdef SADDLE_CUDA
inline constexpr bool kBuiltWithCuda = true;
#else
inline constexpr bool kBuiltWithCuda = false;
#endif

// The rules between settings. Errors: kConfig for settings that contradict each other, kDevice for
// what this program or the chosen device cannot run. Each message contains the keys and the
// numbers.
void check_settings(const Settings& settings, bool built_with_cuda = kBuiltWithCuda);

// Every setting; apply_yaml reads it back to the same Settings, bit for bit.
std::string to_yaml(const Settings& settings);

// Every setting as a flat object, dotted key -> value, for records.
Json to_json(const Settings& settings);

}  // namespace saddle::config
