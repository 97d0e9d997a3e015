#include "backend/context.h"

#include <exception>
#include <utility>

#include "backend/cpu/processor.h"

namespace saddle::backend {

Context::Context(int threads)
    : device_(std::make_shared<cpu::Processor>(threads)),
      on_host_(true),
      threads_(static_cast<cpu::Processor&>(*device_).threads()),
      workspace_(device_) {}

Context::Context(std::shared_ptr<Device> device)
    : device_(std::move(device)), on_host_(device_->is_host()), threads_(1), workspace_(device_) {}

Context::Context(const Context& parent, Lane)
    : device_(parent.device_),
      on_host_(parent.on_host_),
      threads_(1),
      is_lane_(true),
      measuring_(parent.measuring_),
      workspace_(device_) {}

void Context::begin_lanes() {
  while (static_cast<int>(lanes_.size()) < threads_) {
    lanes_.push_back(std::unique_ptr<Context>(new Context(*this, Lane{})));
  }
  for (int i = 0; i < threads_; ++i) {
    lane(i).workspace_.borrow(workspace_.part(i, threads_));
    lane(i).set_measuring(measuring_);
  }
}

void Context::end_lanes() {
  for (const std::unique_ptr<Context>& lane : lanes_) {
    counters_ += std::exchange(lane->counters_, {});
    lane->workspace_.borrow({});
  }
  if (!measuring_) return;
  Workspace::Scope scope(workspace_);
  for (int i = 0; i < threads_; ++i) scope.take<char>(lane(0).workspace_.most_used());
}

void Context::set_measuring(bool measuring) {
  workspace_.set_measuring(measuring);  // first: it may refuse
  measuring_ = measuring;
}

Context::Measurement::Measurement(Context& context)
    : context_(context), counters_(context.counters_), exceptions_(std::uncaught_exceptions()) {
  context_.set_measuring(true);
}

Context::Measurement::~Measurement() noexcept(false) {
  context_.set_measuring(false);
  context_.counters_ = counters_;
  if (std::uncaught_exceptions() > exceptions_) return;
  context_.workspace_.reserve(context_.workspace_.most_used());
}

}  // namespace saddle::backend
