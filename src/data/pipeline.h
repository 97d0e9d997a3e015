// Tokenizing on several threads, with the results in the order of the documents.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "data/shuffle.h"
#include "data/tokenizer.h"

namespace saddle::data {

struct TokenizedDocument {
  std::vector<uint16_t> tokens;  // the ids of the text, then the end-of-sequence id
  ReadingState state;            // of the reader when the document was drawn
};

// One thread draws documents, `workers` threads tokenize them in batches, and next() hands them out
// in the order drawn. Memory is bounded: a few batches for each worker. `tokenizer` must outlive
// it. The destructor discards what was not taken.
class TokenPipeline {
 public:
  TokenPipeline(DocumentShuffler source, const Tokenizer& tokenizer, int64_t workers);
  TokenPipeline(const TokenPipeline&) = delete;
  TokenPipeline& operator=(const TokenPipeline&) = delete;
  ~TokenPipeline();

  // The next document; nothing at the end. An error in reading or tokenizing is thrown where its
  // document would have come, so that it does not depend on how far ahead the threads were.
  std::optional<TokenizedDocument> next();

  // What was read, after next() has returned nothing.
  const ReadingState& final_state() const { return final_state_; }

 private:
  struct Batch {
    std::vector<DrawnDocument> documents;
    std::vector<std::vector<uint16_t>> tokens;
    std::exception_ptr failure;  // after the documents
    bool last = false;
    bool done = false;
  };

  void produce(const std::stop_token& stop);
  void work(const std::stop_token& stop);
  void fill(Batch* batch);
  void tokenize(Batch* batch) const;

  DocumentShuffler source_;
  const Tokenizer& tokenizer_;
  size_t most_batches_;
  ReadingState final_state_;

  std::shared_ptr<Batch> current_;
  size_t taken_ = 0;  // documents of current_

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Batch>> ordered_;  // for next()
  std::deque<std::shared_ptr<Batch>> todo_;     // for the workers
  std::vector<std::jthread> threads_;
};

}  // namespace saddle::data
