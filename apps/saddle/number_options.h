// Options that are numbers. They are read like settings: the whole text must be a decimal number
// in a range. CLI11 alone would read 010 as 8, and accept 0x10 and numbers that are too large.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "config/value_types.h"

namespace saddle::app {

// Bounds shared by several options; if there is a corresponding setting, they equal its bounds.
inline constexpr int64_t kMaxSequences = 65536;
inline constexpr int64_t kMaxThreads = 1024;
inline constexpr int64_t kMaxWorkers = 1000;
inline constexpr int64_t kMaxSamples = 1'000'000;  // results in memory together
inline constexpr double kMaxMemoryGib = 1e6;

// Each refuses values outside `allowed` with a usage error that quotes the text.
CLI::Option* add_number(CLI::App& command, const std::string& name, int64_t& target,
                        const config::Integer& allowed, const std::string& description);
CLI::Option* add_number(CLI::App& command, const std::string& name, std::vector<int64_t>& target,
                        const config::Integer& allowed, const std::string& description);
CLI::Option* add_number(CLI::App& command, const std::string& name, double& target,
                        const config::Real& allowed, const std::string& description);

// Reads a number that is a part of an option's text. Errors: kUsage, with `option` and the text.
int64_t read_number(const std::string& option, const std::string& text,
                    const config::Integer& allowed);

}  // namespace saddle::app
