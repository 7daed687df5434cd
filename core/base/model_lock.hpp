// The lock of a model: a shared lock. Any number of threads read, or one changes the model.
//
// std::shared_mutex may let readers in for ever while a writer waits. Here every thread passes a
// turnstile first, and a writer keeps it until it is inside: later readers queue behind it, and
// both make progress.
//
//              turnstile_ (mutex)             inside_ (shared_mutex)
//   reader --> locked until it is inside --> shared: predicting, one row or block of rows
//   writer --> locked until it is inside --> exclusive: learning (from Python 256 rows at a time),
//                                            saving, and whatever uses the model's scratch
//
// Lock order: a thread waits only for a lock below those it holds.
//
//   1. turn of the estimator   Python (estimators/_base/sharing.py): one call that learns or copies
//   2. turnstile_              one per model; nobody holds the locks of two models
//   3. inside_                 one per model
//   4. the GIL                 released before waiting for 2 or 3, taken back when inside
//   5. BLAS threads            linalg.cpp: while their number is set, nothing is locked below
//
// So a thread that holds the GIL never waits for a model: the bindings set `while_waiting`, which
// releases the GIL first. If the lock is free, nothing is released.
//
// A process that forks while a thread is inside leaves the child a lock whose owner does not exist
// there, around a model that may be half changed. The child gets an error instead of a deadlock; a
// model that no thread was inside works in the child as in its parent.
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

// `after` receives the return value of `before`. Set once, before any thread starts.
struct WhileWaiting {
  void* (*before)() = nullptr;
  void (*after)(void*) = nullptr;
};
inline WhileWaiting while_waiting;

// The number of forks between this process and the one that loaded the library.
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

class ModelLock {
 public:
  [[nodiscard]] std::unique_lock<std::shared_mutex> exclusive() {
    return enter<std::unique_lock<std::shared_mutex>>();
  }
  [[nodiscard]] std::shared_lock<std::shared_mutex> shared() {
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
    if (forks_.load(std::memory_order_relaxed) != Forks::count()) check_after_fork();
    if (std::unique_lock passing(turnstile_, std::try_to_lock); passing) {
      if (Inside inside(inside_, std::try_to_lock); inside) return inside;
    }
    const Waiting waiting;
    const std::lock_guard passing(turnstile_);
    return Inside(inside_);
  }

  // Called by the first thread that enters in a child process.
  void check_after_fork() {
    static std::mutex one_at_a_time;
    const std::lock_guard alone(one_at_a_time);
    if (forks_.load() == Forks::count()) return;
    // No thread of this process has entered yet, so a lock that is held was taken in the parent.
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
  // The fork count at which the lock was last known to be good.
  std::atomic<std::uint32_t> forks_ = Forks::count();
};

}  // namespace budgetron
