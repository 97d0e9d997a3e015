// Threads, which the system may refuse.
#pragma once

#include <functional>
#include <stop_token>
#include <string_view>
#include <thread>

namespace saddle {

// Runs `work` in a new thread; the error names `what` it is for. Errors: kIo if the system starts
// no thread.
std::jthread start_thread(std::string_view what, std::function<void(const std::stop_token&)> work);

// Checks that this process can have `threads` computing threads, its own included, and a few
// others: starts and ends that many. To be called before OpenMP starts them, which ends the program
// if it cannot. Errors: kDevice, with the number that can start.
void check_threads_start(int threads);

}  // namespace saddle
