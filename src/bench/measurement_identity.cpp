#include "bench/measurement_identity.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "backend/gemm.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/units.h"
#include "config/fields.h"
#include "train/session.h"

namespace saddle::bench {
namespace {

// Paths, checkpoints, reports and evaluation: they are no part of a timed update.
constexpr std::array<std::string_view, 7> kNotMeasured = {"training.log_every",
                                                          "training.checkpoint_policy",
                                                          "training.checkpoint_epochs",
                                                          "training.checkpoint_every",
                                                          "runtime.output_dir",
                                                          "runtime.telemetry",
                                                          "runtime.device" /* given by hardware */};

// How training reads its data; the data itself is in the identity of the cache.
constexpr std::array<std::string_view, 2> kReading = {"data.buffer_size_mib", "data.prefetch"};

template <class List>
bool has(const List& list, std::string_view key) {
  return std::ranges::find(list, key) != list.end();
}

}  // namespace

Json to_json(const Protocol& protocol) {
  return {{"data_mode", protocol.data_mode},
          {"warmup", protocol.warmup},
          {"steps", protocol.steps},
          {"windows", protocol.windows}};
}

void check_protocol(const Protocol& protocol) {
  if (protocol.data_mode != "real" && protocol.data_mode != "synthetic") {
    fail(ErrorKind::kUsage, "--data-mode is '{}': real or synthetic was expected",
         protocol.data_mode);
  }
  if (protocol.warmup < 0 || protocol.steps < 1 || protocol.windows < 1 ||
      protocol.windows > kMostWindows) {
    fail(ErrorKind::kUsage,
         "expected 1 to {} windows of at least 1 update and at least 0 warm-up updates, found "
         "--windows {}, "
         "--steps {} and --warmup {}",
         kMostWindows, protocol.windows, protocol.steps, protocol.warmup);
  }
}

Conditions present_conditions(const config::Settings& settings, const Protocol& protocol) {
  const Json build = build_description();
  const Json machine = machine_description();
  Conditions conditions;
  conditions.source_digest = build["source_digest"];
  if (protocol.data_mode == "real") {
    conditions.data_identity = train::open_cache(settings).identity();
  }
  // Machines of the same kind differ by a few pages.
  const double memory = machine["memory_bytes"].get<double>() / kGibibyte;
  conditions.hardware = {{"device", "cpu"},
                         {"processor", machine["processor"]},
                         {"cores", machine["cores"]},
                         {"memory_gib", static_cast<int64_t>(memory + 0.5)}};
  for (const char* key : {"compiler", "flags", "operation_flags", "build_type"}) {
    conditions.software[key] = build[key];
  }
  for (const char* key : {"system", "kernel"}) conditions.software[key] = machine[key];
  conditions.software["products_float32"] = backend::product_library<float>();
  conditions.software["products_bf16"] = backend::product_library<num::Bf16>();
  conditions.software["products_float64"] = backend::product_library<double>();
  return conditions;
}

Json measured_settings(const config::Settings& settings, const Protocol& protocol) {
  Json values = Json::object();
  for (const config::Field& field : config::setting_fields()) {
    const std::string key = field.key();
    if (field.section == "evaluation" || has(kNotMeasured, key)) continue;
    if (field.section == "data" && (protocol.data_mode != "real" || !has(kReading, key))) continue;
    values[key] = field.write(settings);
  }
  values["runtime.threads"] = train::computing_threads(settings);
  return values;
}

Json measurement_identity(const config::Settings& settings, const Protocol& protocol,
                          const Conditions& conditions) {
  return {{"source", conditions.source_digest}, {"settings", measured_settings(settings, protocol)},
          {"protocol", to_json(protocol)},      {"data", conditions.data_identity},
          {"hardware", conditions.hardware},    {"software", conditions.software}};
}

std::string identity_digest(const Json& identity) {
  return sha256_hex(canonical_json(identity));
}

}  // namespace saddle::bench
