// Options that are numbers. They are read as settings are: decimal, the whole text, in a range;
// what the library for command lines would make of 010 (8), 0x10 or a number that is too large is
// not.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "config/value_types.h"

namespace saddle::app {

// Bounds that several options share; where there is a setting of the kind, they are the setting's.
inline constexpr int64_t kMaxSequences = 65536;
inline constexpr int64_t kMaxThreads = 1024;
inline constexpr int64_t kMaxWorkers = 1000;
inline constexpr int64_t kMaxSamples = 1'000'000;  // results in memory together
inline constexpr double kMaxMemoryGib = 1e6;

// Each refuses, as a usage error that names the text, what `allowed` does not hold.
CLI::Option* add_number(CLI::App& command, const std::string& name, int64_t& target,
                        const config::Integer& allowed, const std::string& description);
CLI::Option* add_number(CLI::App& command, const std::string& name, std::vector<int64_t>& target,
                        const config::Integer& allowed, const std::string& description);
CLI::Option* add_number(CLI::App& command, const std::string& name, double& target,
                        const config::Real& allowed, const std::string& description);

// A number that is a part of an option's text. Errors: kUsage, with `option` and the text.
int64_t read_number(const std::string& option, const std::string& text,
                    const config::Integer& allowed);

}  // namespace saddle::app
