#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "base/text_table.h"
#include "bench/profile_summary.h"
#include "bench/worker.h"

namespace saddle::bench {
namespace {

double number(const Json& value) {
  return value.get<double>();
}

constexpr std::array<std::pair<const char*, const char*>, 7> kRequests = {
    {{"loops over rows", "launches"},
     {"bytes that they read and write", "kernel_bytes"},
     {"calls of the product library", "products"},
     {"times that the host waits for results", "host_reads"},
     {"bytes copied to the host", "bytes_to_host"},
     {"bytes copied to the device", "bytes_to_device"},
     {"blocks of memory", "allocations"}}};

std::string gigabytes(const Json& bytes) {
  return fmt::format("{:.2f} GB", number(bytes) * 1e-9);
}

}  // namespace

std::string worker_text(const Json& record) {
  std::vector<double> rates;
  for (const Json& window : record["windows"]) rates.push_back(number(window["tokens_per_second"]));
  const auto [slowest, fastest] = std::ranges::minmax(rates);
  TextTable table;
  table.add({"tokens/s", fmt::format("{:.0f}", number(record["tokens_per_second"]))});
  table.add({fmt::format("  windows: {}, updates in each: {}", record["windows"].size(),
                         record["steps"].dump()),
             fmt::format("{:.0f} to {:.0f}", slowest, fastest)});
  if (record["share_of_peak"].is_number()) {
    table.add({"share of the product peak",
               fmt::format("{:.1f}% of {:.1f} GFLOP/s", 100 * number(record["share_of_peak"]),
                           number(record["peak_operations_per_second"]) * 1e-9)});
  }
  table.add({"loss", fmt::format("{:.4f}", number(record["loss"]))});
  table.add({"gradient norm", fmt::format("{:.4f}", number(record["grad_norm"]))});
  table.add({"startup", human_duration(number(record["startup_seconds"]))});
  table.add({"first update", human_duration(number(record["first_update_seconds"]))});
  table.add({fmt::format("warm-up (updates: {})", record["warmup"].dump()),
             human_duration(number(record["warmup_seconds"]))});
  table.add({"peak memory", fmt::format("{} of {}", gigabytes(record["peak_memory_bytes"]),
                                        gigabytes(record["device_memory_bytes"]))});
  table.add({"matrix products", record["kernels"]["matrix_products"]});
  table.add({"attention", record["kernels"]["attention"]});
  std::string text = table.text();
  const Json& requests = record["requests_per_update"];
  TextTable requested;
  for (const auto& [name, what] : kRequests) {
    requested.add({name, fmt::format("{:.6g}", number(requests[what]))});
  }
  text += "\nRequested from the device in an update:\n\n" + requested.text();
  if (record.contains("profile")) {
    const Json& profile = record["profile"];
    text +=
        fmt::format("\nWhere {:.1f}% of the time of the profiled updates went (trace: {}):\n\n{}",
                    100 * number(profile["covered_share"]), profile["trace"].get<std::string>(),
                    profile_table(profile));
    if (const Json& alone = profile["single_thread_share"]; alone.is_number()) {
      text += fmt::format("\nAt most one thread was at work in {:.2f}% of that time.\n",
                          100 * number(alone));
    }
  }
  return text;
}

}  // namespace saddle::bench
