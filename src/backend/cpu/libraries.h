// Settings of the matrix libraries that hold for the calling thread and what it starts.
#pragma once

namespace saddle::backend::cpu {

// Lets the libraries use at most `threads` threads.
void limit_library_threads(int threads);

}  // namespace saddle::backend::cpu
