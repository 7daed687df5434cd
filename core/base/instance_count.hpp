// How many models there are, for tests that look for leaks where no leak checker can.
#pragma once

#include <atomic>
#include <cstdint>

namespace budgetron {

inline std::atomic<std::int64_t> live_models = 0;

// What is derived from it is counted. It takes no bytes.
class Live {
 public:
  Live() { ++live_models; }
  ~Live() { --live_models; }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;
};

}  // namespace budgetron
