// Who may be inside a model: any number that look, or one that changes it.
//
// A shared mutex as the platform gives it may let lookers in for ever while a changer waits. Here
// everyone passes a turnstile first, and a changer keeps it until it is inside: those who look wait
// behind it, and both make progress.
//
// Cost: two uncontended locks, some 30 ns.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace budgetron {

class Gate {
 public:
  [[nodiscard]] std::unique_lock<std::shared_mutex> to_change() {
    const std::lock_guard passing(turnstile_);
    return std::unique_lock(inside_);
  }
  [[nodiscard]] std::shared_lock<std::shared_mutex> to_look() {
    const std::lock_guard passing(turnstile_);
    return std::shared_lock(inside_);
  }

 private:
  std::mutex turnstile_;
  std::shared_mutex inside_;
};

}  // namespace budgetron
