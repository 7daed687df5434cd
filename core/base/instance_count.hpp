// Counts the models that exist, for tests that look for leaks where no leak checker can run.
#pragma once

#include <atomic>
#include <cstdint>

namespace budgetron {

inline std::atomic<std::int64_t> live_models = 0;

// A base class that counts its objects. It takes no bytes.
class InstanceCount {
 public:
  InstanceCount() { ++live_models; }
  ~InstanceCount() { --live_models; }
  InstanceCount(const InstanceCount&) = delete;
  InstanceCount& operator=(const InstanceCount&) = delete;
};

}  // namespace budgetron
