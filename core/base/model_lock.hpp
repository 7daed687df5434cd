// Who may be inside a model: any number that look, or one that changes it.
//
// A shared mutex as the platform gives it may let lookers in for ever while a changer waits. Here
// everyone passes a turnstile first, and a changer keeps it until it is inside: those who look wait
// behind it, and both make progress.
//
// Who has to wait may hold something that those inside need to get out: the bindings have the GIL
// let go of for the time (`while_waiting`). Nothing is let go of where nobody is in the way.
//
// A process that forks while a thread is inside leaves the child a locked gate whose owner does not
// exist there, around a model that may be half changed. The child is refused with an error instead
// of waiting for ever; a model that nobody was inside works in the child as in its parent.
//
// Cost: two uncontended locks, some 30 ns.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>

namespace budgetron {

// `after` gets what `before` answered. Set once, before there are threads.
struct WhileWaiting {
  void* (*before)() = nullptr;
  void (*after)(void*) = nullptr;
};
inline WhileWaiting while_waiting;

// How many forks lie between this process and the one that loaded the library.
class Forks {
 public:
  static std::uint32_t count() { return counter().load(std::memory_order_relaxed); }

 private:
  static std::atomic<std::uint32_t>& counter() {
    static std::atomic<std::uint32_t> forks = [] {
      pthread_atfork(nullptr, nullptr, [] { counter().fetch_add(1); });
      return 0u;
    }();
    return forks;
  }
};

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
    if (forks_.load(std::memory_order_relaxed) != Forks::count()) look_after_fork();
    if (std::unique_lock passing(turnstile_, std::try_to_lock); passing) {
      if (Inside inside(inside_, std::try_to_lock); inside) return inside;
    }
    const Waiting waiting;
    const std::lock_guard passing(turnstile_);
    return Inside(inside_);
  }

  // The first to enter in a child process.
  void look_after_fork() {
    static std::mutex one_at_a_time;
    const std::lock_guard alone(one_at_a_time);
    if (forks_.load() == Forks::count()) return;
    // Nobody of this process has been here: what is locked was so in the parent.
    const std::unique_lock passing(turnstile_, std::try_to_lock);
    const std::unique_lock inside(inside_, std::try_to_lock);
    if (!passing || !inside) {
      throw std::runtime_error(
          "this model was in use by another thread when the process forked, and may be half "
          "changed here: take a snapshot() or save it before the fork");
    }
    forks_.store(Forks::count());
  }

  std::mutex turnstile_;
  std::shared_mutex inside_;
  std::atomic<std::uint32_t> forks_ = Forks::count();  // where it was last found to be in order
};

}  // namespace budgetron
