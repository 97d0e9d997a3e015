// Whether a finished cache is what a new request would make.
#pragma once

#include "data/cache.h"
#include "data/file_sequence.h"
#include "data/prepare.h"
#include "data/tokenizer.h"

namespace saddle::data {

// An Error of kind kConfig that names every field in which `cache` differs from what `options`
// would make of the files, and says to choose a new directory. More training tokens than requested
// are not a difference: the first of them are the same.
void check_same_request(const TokenCache& cache, const PrepareOptions& options,
                        const Tokenizer& tokenizer, const FileSequence& train,
                        const FileSequence& validation);

}  // namespace saddle::data
