// CUDA's functions for streams, events and graphs.
#include <algorithm>

#include "cuda_runtime.h"
#include "runtime/device.h"

using emulated::device;
using emulated::Device;
using emulated::refuse;
using emulated::Status;

namespace emulated {
namespace {

Status find_event(const Device& self, cudaEvent_t event) {
  if (self.events.contains(event)) return {};
  return refuse(cudaErrorInvalidResourceHandle, "the event does not exist");
}

// Runs everything that was captured, in order.
Status run_all(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    Status status = operation.run();
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace
}  // namespace emulated

cudaError_t cudaDeviceSynchronize() {
  return device().call_outside_capture("cudaDeviceSynchronize", [](Device& self) {
    ++self.counters.host_synchronizations;
    return self.finish_all();
  });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return device().call([&](Device& self) -> Status {
    *stream = self.create_stream((flags & cudaStreamNonBlocking) == 0);
    return {};
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(device().mutex);
  const Status status = device().destroy(stream);  // after a failure too
  return device().call([&](Device&) { return status; });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return device().call_outside_capture("cudaStreamSynchronize", [&](Device& self) {
    ++self.counters.host_synchronizations;
    return self.finish(stream);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return device().call_outside_capture("cudaStreamQuery",
                                       [&](Device& self) { return self.advance(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return device().call([&](Device& self) {
    Status status = emulated::find_event(self, event);
    return status.ok() ? self.wait(stream, event->state) : status;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return device().call([&](Device& self) -> Status {
    *event = new CUevent_st;
    (*event)->timed = (flags & cudaEventDisableTiming) == 0;
    self.events.insert(*event);
    return {};
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(device().mutex);
  const Status status = emulated::find_event(device(), event);
  if (status.ok()) {
    device().events.erase(event);
    delete event;
  }
  return device().call([&](Device&) { return status; });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return device().call([&](Device& self) {
    Status status = emulated::find_event(self, event);
    return status.ok() ? self.record(stream, event->state) : status;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return device().call_outside_capture("cudaEventSynchronize", [&](Device& self) {
    Status status = emulated::find_event(self, event);
    if (!status.ok()) return status;
    ++self.counters.host_synchronizations;
    return self.finish(*event->state);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return device().call_outside_capture("cudaEventQuery", [&](Device& self) {
    Status status = emulated::find_event(self, event);
    if (!status.ok()) return status;
    const emulated::EventState& state = *event->state;
    if (state.completed >= state.recorded) return status;
    status = self.advance(state.stream);
    return state.completed >= state.recorded ? Status{} : status;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return device().call([&](Device& self) {
    for (const cudaEvent_t event : {start, end}) {
      Status status = emulated::find_event(self, event);
      if (!status.ok()) return status;
      if (!event->timed || event->state->recorded == 0) {
        return refuse(cudaErrorInvalidResourceHandle, "the event has no time");
      }
      if (event->state->completed < event->state->recorded) {
        return refuse(cudaErrorNotReady, "the event has not been reached");
      }
    }
    const auto elapsed = end->state->when - start->state->when;
    *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count();
    return Status{};
  });
}

// Every mode is as strict as cudaStreamCaptureModeGlobal.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return device().call([&](Device& self) { return self.begin_capture(stream); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return device().call([&](Device& self) {
    *graph = nullptr;
    std::vector<emulated::Operation> operations;
    Status status = self.end_capture(stream, &operations);
    if (status.ok()) *graph = new CUgraph_st{std::move(operations)};
    return status;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return device().call([&](Device& self) {
    CUstream_st* found = nullptr;
    Status known = self.find(stream, &found);
    if (!known.ok()) return known;
    *status = !found->capturing       ? cudaStreamCaptureStatusNone
              : found->capture_broken ? cudaStreamCaptureStatusInvalidated
                                      : cudaStreamCaptureStatusActive;
    return Status{};
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  return device().call([&](Device&) -> Status {
    *executable = nullptr;
    if (graph == nullptr) return refuse(cudaErrorInvalidValue, "the graph is null");
    *executable = new CUgraphExec_st;
    (*executable)->operations =
        std::make_shared<const std::vector<emulated::Operation>>(graph->operations);
    (*executable)->counts.graph_launches = 1;
    for (const emulated::Operation& operation : graph->operations) {
      (*executable)->counts += operation.counts;
    }
    return {};
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return device().call([&](Device& self) {
    if (executable == nullptr) return refuse(cudaErrorInvalidValue, "the graph is null");
    return self.queue(
        stream, {[operations = executable->operations] { return emulated::run_all(*operations); },
                 executable->counts});
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
