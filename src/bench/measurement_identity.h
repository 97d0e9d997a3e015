// The identity of a measurement of training speed.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "config/settings.h"

namespace saddle::bench {

// How a candidate is measured.
inline constexpr int64_t kMostWindows = 1'000'000;  // all are in memory at the same time

struct Protocol {
  std::string data_mode = "real";  // or synthetic
  int64_t warmup = 20;             // updates before the first window
  int64_t steps = 100;             // updates of a window
  int64_t windows = 3;             // the median window counts
};

Json to_json(const Protocol& protocol);

// Errors: kUsage for anything that cannot be measured.
void check_protocol(const Protocol& protocol);

// Everything besides settings and protocol on which a measurement depends.
struct Conditions {
  std::string source_digest;  // of the sources of the program
  std::string data_identity;  // of the token cache; empty with synthetic data
  Json hardware;              // device, processor, cores, memory
  Json software;              // compiler, flags, system
};

// Returns those of this program on this machine. Errors: those of opening data.cache, for real
// data.
Conditions present_conditions(const config::Settings& settings, const Protocol& protocol);

// The settings on which a measurement depends, dotted key -> value: without paths, records and
// evaluation; threads as a number; with synthetic data, without the reading of data.
Json measured_settings(const config::Settings& settings, const Protocol& protocol);

// {source, settings, protocol, data, hardware, software}. It contains neither host name, time nor
// load.
Json measurement_identity(const config::Settings& settings, const Protocol& protocol,
                          const Conditions& conditions);

// SHA-256 of its canonical form, in hexadecimal digits.
std::string identity_digest(const Json& identity);

}  // namespace saddle::bench
