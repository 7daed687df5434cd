// Who may be inside a model: any number that look, or one that changes it.
//
// A shared mutex as the platform gives it may let lookers in for ever while a changer waits. Here
// everyone passes a turnstile first, and a changer keeps it until it is inside: those who look wait
// behind it, and both make progress.
//
// Who has to wait may hold something that those inside need to get out: the bindings have the GIL
// let go of for the time (`while_waiting`). Nothing is let go of where nobody is in the way.
//
// Cost: two uncontended locks, some 30 ns.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace budgetron {

// `after` gets what `before` answered. Set once, before there are threads.
struct WhileWaiting {
  void* (*before)() = nullptr;
  void (*after)(void*) = nullptr;
};
inline WhileWaiting while_waiting;

class Gate {
 public:
  [[nodiscard]] std::unique_lock<std::shared_mutex> to_change() {
    return enter<std::unique_lock<std::shared_mutex>>();
  }
  [[nodiscard]] std::shared_lock<std::shared_mutex> to_look() {
    return enter<std::shared_lock<std::shared_mutex>>();
  }

 private:
  class Waiting {
   public:
    Waiting() : held_(while_waiting.before != nullptr ? while_waiting.before() : nullptr) {}
    ~Waiting() {
      if (held_ != nullptr) while_waiting.after(held_);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    void* held_;
  };

  template <class Inside>
  Inside enter() {
    if (std::unique_lock passing(turnstile_, std::try_to_lock); passing) {
      if (Inside inside(inside_, std::try_to_lock); inside) return inside;
    }
    const Waiting waiting;
    const std::lock_guard passing(turnstile_);
    return Inside(inside_);
  }

  std::mutex turnstile_;
  std::shared_mutex inside_;
};

}  // namespace budgetron
