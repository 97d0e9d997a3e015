#include "runtime/device.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "runtime/faults.h"

namespace emulated {

Device& device() {
  static Device* const only = new Device;  // never destroyed: streams may be used at exit
  return *only;
}

Device::Device() {
  explain_faults(memory);
}

Status Device::find(cudaStream_t stream, CUstream_st** found) {
  *found = nullptr;
  if (stream == nullptr) *found = &default_stream_;
  for (CUstream_st& known : streams_) {
    if (&known == stream && !known.destroyed) *found = &known;
  }
  if (*found != nullptr) return {};
  return refuse(cudaErrorInvalidResourceHandle, "the stream does not exist");
}

CUstream_st* Device::create_stream(bool follows_default) {
  streams_.emplace_back();
  streams_.back().follows_default = follows_default;
  return &streams_.back();
}

// As on the device, what is queued is still done, when the host waits for everything.
Status Device::destroy(cudaStream_t stream) {
  CUstream_st* found = nullptr;
  Status status = find(stream, &found);
  if (!status.ok()) return status;
  if (stream == nullptr) {
    return refuse(cudaErrorInvalidResourceHandle, "the default stream cannot be destroyed");
  }
  found->destroyed = true;
  std::erase_if(streams_, [](const CUstream_st& s) { return s.destroyed && s.queue.empty(); });
  return {};
}

Status Device::queue(cudaStream_t stream, Operation operation) {
  CUstream_st* found = nullptr;
  Status status = find(stream, &found);
  if (!status.ok()) return status;
  if (found->capturing) {
    found->captured.push_back(std::move(operation));
    return {};
  }
  if (found == &default_stream_ && captures()) {
    for (CUstream_st& other : streams_) other.capture_broken |= other.capturing;
    return refuse(cudaErrorStreamCaptureImplicit,
                  "the default stream was used while another stream captures");
  }
  counters += operation.counts;
  found->queue.push_back({std::move(operation), ++queued_});
  return {};
}

// The default stream waits for what was queued before in streams that follow it, and they for it.
Status Device::run_next(CUstream_st& stream) {
  CUstream_st::Queued next = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (&stream == &default_stream_) {
    for (CUstream_st& other : streams_) {
      if (!other.follows_default) continue;
      Status status = run_before(other, next.number);
      if (!status.ok()) return status;
    }
  } else if (stream.follows_default) {
    Status status = run_before(default_stream_, next.number);
    if (!status.ok()) return status;
  }
  Status status = next.operation.run();
  if (!status.ok() && failure.ok()) {
    failure = status;
    drop_work();
  }
  return status;
}

Status Device::run_before(CUstream_st& stream, uint64_t number) {
  return run_while(stream, [&] { return stream.queue.front().number < number; });
}

Status Device::run_while(CUstream_st& stream, const std::function<bool()>& needed) {
  if (stream.queue.empty() || !needed()) return {};
  const DeviceMemory::Open open(memory);
  while (!stream.queue.empty() && needed()) {
    Status status = run_next(stream);
    if (!status.ok()) return status;
  }
  return {};
}

Status Device::finish(cudaStream_t stream) {
  CUstream_st* found = nullptr;
  Status status = find(stream, &found);
  if (!status.ok() || is_idle()) return status;
  const DeviceMemory::Open open(memory);
  if (found == &default_stream_) {  // waits for the streams that follow it even when it is empty
    for (CUstream_st& other : streams_) {
      if (status.ok() && other.follows_default) status = run_before(other, queued_ + 1);
    }
  }
  if (status.ok()) status = run_before(*found, queued_ + 1);
  return status.ok() ? check_damage() : status;
}

Status Device::finish(const EventState& event) {
  const uint64_t recorded = event.recorded;
  if (event.completed >= recorded) return {};
  const DeviceMemory::Open open(memory);
  Status status = run_while(*event.stream, [&] { return event.completed < recorded; });
  return status.ok() ? check_damage() : status;
}

Status Device::finish_all() {
  if (is_idle()) return {};
  const DeviceMemory::Open open(memory);
  std::vector<CUstream_st*> all{&default_stream_};
  for (CUstream_st& stream : streams_) all.push_back(&stream);
  if (order == 1) std::reverse(all.begin(), all.end());
  if (order > 1) {
    const saddle::RandomStream random(order, saddle::RandomPurpose::kTest, queued_);
    std::vector<CUstream_st*> shuffled;
    for (const int64_t i : saddle::random_permutation(random, static_cast<int64_t>(all.size()))) {
      shuffled.push_back(all[static_cast<size_t>(i)]);
    }
    all = shuffled;
  }
  for (CUstream_st* stream : all) {
    Status status = run_before(*stream, queued_ + 1);
    if (!status.ok()) return status;
  }
  std::erase_if(streams_, [](const CUstream_st& s) { return s.destroyed && s.queue.empty(); });
  return check_damage();
}

Status Device::advance(cudaStream_t stream) {
  CUstream_st* found = nullptr;
  Status status = find(stream, &found);
  if (!status.ok() || found->queue.empty()) return status;
  const DeviceMemory::Open open(memory);
  status = run_next(*found);
  if (!status.ok()) return status;
  if (found->queue.empty()) return check_damage();
  return {cudaErrorNotReady, "the stream has more to do"};
}

bool Device::is_idle() const {
  return default_stream_.queue.empty() &&
         std::all_of(streams_.begin(), streams_.end(),
                     [](const CUstream_st& stream) { return stream.queue.empty(); });
}

Status Device::check_damage() {
  const std::string damage = memory.damage();
  if (damage.empty()) return {};
  failure = {cudaErrorIllegalAddress, damage};
  return failure;
}

Status Device::record(cudaStream_t stream, std::shared_ptr<EventState> event) {
  CUstream_st* found = nullptr;
  Status status = find(stream, &found);
  if (!status.ok()) return status;
  if (found->capturing) {
    return refuse(cudaErrorNotSupported, "the emulated device captures no events");
  }
  event->stream = found;
  const uint64_t number = ++event->recorded;
  return queue(stream, {[event, number]() -> Status {
                          event->completed = number;
                          event->when = std::chrono::steady_clock::now();
                          return {};
                        },
                        {}});
}

Status Device::wait(cudaStream_t stream, std::shared_ptr<EventState> event) {
  CUstream_st* found = nullptr;
  Status status = find(stream, &found);
  if (!status.ok() || event->recorded == 0) return status;
  if (found->capturing) {
    return refuse(cudaErrorNotSupported, "the emulated device captures no events");
  }
  CUstream_st* const other = event->stream;
  const uint64_t number = event->recorded;
  return queue(stream, {[this, other, event, number]() -> Status {
                          if (event->completed >= number) return {};
                          return run_while(*other, [&] { return event->completed < number; });
                        },
                        {}});
}

bool Device::captures() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const CUstream_st& stream) { return stream.capturing; });
}

Status Device::begin_capture(cudaStream_t stream) {
  CUstream_st* found = nullptr;
  Status status = find(stream, &found);
  if (!status.ok()) return status;
  if (found == &default_stream_) {
    return refuse(cudaErrorStreamCaptureUnsupported, "the default stream cannot be captured");
  }
  if (found->capturing) {
    return refuse(cudaErrorStreamCaptureUnmatched, "the stream captures already");
  }
  found->capturing = true;
  found->capture_broken = false;
  return {};
}

Status Device::end_capture(cudaStream_t stream, std::vector<Operation>* operations) {
  CUstream_st* found = nullptr;
  Status status = find(stream, &found);
  if (!status.ok()) return status;
  if (!found->capturing) {
    return refuse(cudaErrorStreamCaptureUnmatched, "the stream does not capture");
  }
  *operations = std::exchange(found->captured, {});
  found->capturing = false;
  if (!found->capture_broken) return {};
  operations->clear();
  return refuse(cudaErrorStreamCaptureInvalidated, "the capture was ended by: {}", why);
}

Status Device::refusal_while_capturing(const char* name) {
  if (!captures()) return {};
  for (CUstream_st& stream : streams_) stream.capture_broken |= stream.capturing;
  return refuse(cudaErrorStreamCaptureUnsupported, "{} was called while a stream captures", name);
}

void Device::drop_work() {
  default_stream_.queue.clear();
  for (CUstream_st& stream : streams_) {
    stream.queue.clear();
    stream.capturing = false;
    stream.captured.clear();
  }
}

void Device::reset() {
  drop_work();
  std::erase_if(streams_, [](const CUstream_st& s) { return s.destroyed; });
  for (const cudaEvent_t event : events) event->state->completed = event->state->recorded;
  failure = {};
  last_error = why_code = cudaSuccess;
  why.clear();
  counters = {};
  order = 0;
  memory.set_limit(kMemoryLimit);
}

Counters& Counters::operator+=(const Counters& other) {
  kernel_launches += other.kernel_launches;
  library_calls += other.library_calls;
  graph_launches += other.graph_launches;
  copies += other.copies;
  host_synchronizations += other.host_synchronizations;
  bytes_to_device += other.bytes_to_device;
  bytes_to_host += other.bytes_to_host;
  bytes_on_device += other.bytes_on_device;
  bytes_filled += other.bytes_filled;
  allocations += other.allocations;
  bytes_allocated += other.bytes_allocated;
  return *this;
}

Counters counters() {
  const std::lock_guard lock(device().mutex);
  return device().counters;
}

void reset_counters() {
  const std::lock_guard lock(device().mutex);
  device().counters = {};
}

void set_order(uint64_t order) {
  const std::lock_guard lock(device().mutex);
  device().order = order;
}

void set_memory_limit(size_t bytes) {
  const std::lock_guard lock(device().mutex);
  device().memory.set_limit(bytes);
}

size_t bytes_in_use() {
  const std::lock_guard lock(device().mutex);
  return device().memory.used();
}

std::string failure() {
  const std::lock_guard lock(device().mutex);
  return device().why;
}

void reset() {
  const std::lock_guard lock(device().mutex);
  device().reset();
}

std::optional<size_t> first_unwritten(const void* pointer, size_t bytes) {
  const std::lock_guard lock(device().mutex);
  const DeviceMemory::Open open(device().memory);
  const auto* words = static_cast<const uint32_t*>(pointer);
  for (size_t i = 0; i < bytes / 4; ++i) {
    if (words[i] == 0xffffffffu) return 4 * i;
  }
  return std::nullopt;
}

}  // namespace emulated
