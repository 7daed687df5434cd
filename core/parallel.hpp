// A range of independent pieces of work, shared out to threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace budgetron {

// Calls work(begin, end) on contiguous shares of 0 .. count, each on a thread of its own, the first
// on this one. Returns when all are done; rethrows what one of them threw.
template <class Work>
void share_out(std::size_t count, std::size_t threads, Work work) {
  threads = std::max<std::size_t>(1, std::min(threads, count));
  std::vector<std::exception_ptr> errors(threads);
  const auto run = [&](std::size_t i) {
    try {
      work(count * i / threads, count * (i + 1) / threads);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    others.reserve(threads - 1);
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace budgetron
