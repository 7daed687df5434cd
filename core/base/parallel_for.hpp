// A parallel loop over independent pieces of work.
//
// Each thread takes the next piece when it has finished one, so a thread that starts late or is
// interrupted does fewer of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace budgetron {

// The range 0 .. count in pieces; each piece goes to one thread.
class Pieces {
 public:
  Pieces(std::size_t count, std::size_t size) : count_(count), size_(size) {}

  // Sets [begin, end) to the next piece; returns false if none is left.
  bool take(std::size_t& begin, std::size_t& end) {
    begin = next_.fetch_add(size_, std::memory_order_relaxed);
    end = std::min(begin + size_, count_);
    return begin < count_;
  }

 private:
  std::size_t count_;
  std::size_t size_;
  std::atomic<std::size_t> next_ = 0;
};

// Calls work(pieces) on `threads` threads, this one included, or on fewer so that each has at least
// `each` items. Pieces of `size` items are smaller than that, so that no thread waits long for the
// last one. Returns when all have finished; rethrows an exception of any of them.
template <class Work>
void parallel_for(std::size_t count, std::size_t size, std::size_t each, std::size_t threads,
                  Work work) {
  threads = std::max<std::size_t>(1, std::min(threads, (count + each - 1) / each));
  Pieces pieces(count, size);
  std::vector<std::exception_ptr> errors(threads);
  const auto run = [&](std::size_t i) {
    try {
      work(pieces);
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
