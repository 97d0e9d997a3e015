// One product of float matrices on the processor, by oneDNN.
#pragma once

#include "backend/context.h"
#include "backend/profile.h"

namespace saddle::backend::cpu {

// Computes one product (call.batch has one) with the threads of the context, or on the calling
// thread inside a loop that is shared.
void multiply_float(Context& context, const GemmCall<float>& call);

// For a product that the library shares, begun at `begin` (Profile::now()): nothing can be recorded
// inside it, so all its threads count as busy from its beginning to its end.
void note_shares(Profile& profile, int64_t begin);

}  // namespace saddle::backend::cpu
