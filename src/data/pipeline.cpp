#include "data/pipeline.h"

#include "base/error.h"
#include "base/threads.h"

namespace saddle::data {

namespace {

// A batch is large enough to make the queue's cost small, and small enough to keep order cheaply.
constexpr size_t kBatchDocuments = 64;
constexpr size_t kBatchBytes = size_t{256} << 10;
constexpr size_t kBatchesForEachWorker = 4;

}  // namespace

TokenPipeline::TokenPipeline(DocumentShuffler source, const Tokenizer& tokenizer, int64_t workers)
    : source_(std::move(source)), tokenizer_(tokenizer) {
  if (workers < 1) fail(ErrorKind::kConfig, "expected at least 1 worker, found {}", workers);
  most_batches_ = static_cast<size_t>(workers) * kBatchesForEachWorker;
  threads_.push_back(start_thread("reading the documents",
                                  [this](const std::stop_token& stop) { produce(stop); }));
  for (int64_t i = 0; i < workers; ++i) {
    const std::string what =
        fmt::format("tokenizing ({} of {}; data.prepare_workers)", i + 1, workers);
    threads_.push_back(start_thread(what, [this](const std::stop_token& stop) { work(stop); }));
  }
}

TokenPipeline::~TokenPipeline() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // joins them while the queues still exist
}

void TokenPipeline::fill(Batch* batch) {
  size_t bytes = 0;
  try {
    while (batch->documents.size() < kBatchDocuments && bytes < kBatchBytes) {
      std::optional<DrawnDocument> document = source_.next();
      if (!document) {
        batch->last = true;
        break;
      }
      bytes += document->text.size();
      batch->documents.push_back(std::move(*document));
    }
  } catch (...) {
    batch->failure = std::current_exception();
    batch->last = true;
  }
}

void TokenPipeline::produce(const std::stop_token& stop) {
  bool last = false;
  while (!last) {
    auto batch = std::make_shared<Batch>();
    fill(batch.get());
    last = batch->last;
    std::unique_lock lock(mutex_);
    if (last) final_state_ = source_.state();
    if (!changed_.wait(lock, stop, [this] { return ordered_.size() < most_batches_; })) return;
    ordered_.push_back(batch);
    todo_.push_back(batch);
    changed_.notify_all();
  }
}

void TokenPipeline::tokenize(Batch* batch) const {
  batch->tokens.reserve(batch->documents.size());
  for (const DrawnDocument& document : batch->documents) {
    std::vector<uint16_t> ids;
    tokenizer_.encode(document.text, &ids);
    ids.push_back(tokenizer_.eos_id());
    batch->tokens.push_back(std::move(ids));
  }
}

void TokenPipeline::work(const std::stop_token& stop) {
  while (true) {
    std::shared_ptr<Batch> batch;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !todo_.empty(); })) return;
      batch = std::move(todo_.front());
      todo_.pop_front();
    }
    try {
      tokenize(batch.get());
    } catch (...) {
      // Documents tokenized before it are kept; the failure comes after them.
      batch->failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    batch->done = true;
    changed_.notify_all();
  }
}

std::optional<TokenizedDocument> TokenPipeline::next() {
  while (true) {
    if (!current_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !ordered_.empty() && ordered_.front()->done; });
      current_ = std::move(ordered_.front());
      ordered_.pop_front();
      taken_ = 0;
      changed_.notify_all();
    }
    if (taken_ < current_->tokens.size()) {
      const size_t i = taken_++;
      return TokenizedDocument{std::move(current_->tokens[i]), current_->documents[i].state};
    }
    if (current_->failure) std::rethrow_exception(current_->failure);
    if (current_->last) return std::nullopt;
    current_.reset();
  }
}

}  // namespace saddle::data
