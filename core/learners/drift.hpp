// A test whether the stream has changed: compares the mistake rate of about the last 100 rounds
// with that of the last 2000:
//
//   fast += (error - fast)/min(t, 100) ;  slow += (error - slow)/min(t, 2000)
//   drift: t > 500, no window open, fast > slow + 4 sqrt(slow (1 - slow)/200 + 1e-6)
//
// The error is 1 for a mistake and 0 otherwise. In regression it is a number between, whose
// variance is below slow (1 - slow), so fewer drifts are called.
//
// An average with rate 1/100 has the variance slow (1 - slow)/199 while nothing changes. A drift
// sets slow to fast and opens a window of 500 rounds, starting with this one, in which no drift is
// called.
//
// A class whose first row comes after the first 500 rounds is *late*. Mistakes on a new class say
// nothing about what was learned before: its first kYoung rows are not counted.
//
// The log keeps the rounds of the last kLogged drifts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/state.hpp"
#include "hypothesis/class_change.hpp"

namespace budgetron {

class Drift {
 public:
  // `outputs` of f; one output means two classes.
  explicit Drift(std::size_t outputs) : young_(classes_of(outputs), kUnseen) {
    log_.reserve(kLogged);
  }

  // Whether a row of this class counts. Call it once per row.
  bool counts(std::size_t code) {
    std::int64_t& young = young_[code];
    if (young == kUnseen) young = rounds_ < kWindow ? 0 : kYoung;
    if (young == 0) return true;
    --young;
    return false;
  }

  // Called when a class joins.
  void rearrange(const ClassChange& change) {
    const std::vector<std::int64_t> before = young_;
    young_.assign(classes_of(ClassChange::outputs(change.after)), kUnseen);
    for (std::size_t k = 0; k < change.after; ++k) {
      if (change.order[k] < 0) continue;
      // A class that is alone is the second of two.
      const std::size_t from = change.before == 1 ? 1 : static_cast<std::size_t>(change.order[k]);
      young_[change.after == 1 ? 1 : k] = before[from];
    }
  }

  // Counts one round, with an error of 0 to 1; true if a drift is called in it.
  bool count(double error, std::int64_t round) {
    observe(error);
    if (!due()) return false;
    call(round);
    return true;
  }
  // Counts one round in which no drift may be called.
  void observe(double error) {
    if (window_ > 0) --window_;
    const double t = static_cast<double>(++rounds_);
    fast_ += (error - fast_) / std::min(t, 100.0);
    slow_ += (error - slow_) / std::min(t, 2000.0);
  }
  // Whether the rounds so far show a drift.
  [[nodiscard]] bool due() const {
    const double spread = std::sqrt(slow_ * (1.0 - slow_) / 200.0 + 1e-6);
    return rounds_ > kWindow && window_ == 0 && fast_ > slow_ + 4.0 * spread;
  }
  // Calls a drift in this round.
  void call(std::int64_t round) {
    slow_ = fast_;
    window_ = kWindow;
    if (log_.size() == kLogged) log_.erase(log_.begin());
    log_.push_back(round);
    ++drifts_;
  }

  // The log of the learner in whose place this one comes, instead of its own.
  void take_log(std::span<const std::int64_t> log) { log_.assign(log.begin(), log.end()); }

  [[nodiscard]] bool open() const { return window_ > 0; }
  [[nodiscard]] std::span<const std::int64_t> log() const { return log_; }

  void visit_state(StateVisitor& visitor) {
    visitor.field("fast", fast_);
    visitor.field("slow", slow_);
    visitor.field("watched", rounds_);
    visitor.field("window", window_);
    visitor.field("drifts", drifts_);
    visitor.field("drift_log", log_);
    const std::size_t classes = young_.size();
    visitor.field("young", young_);
    if (visitor.loading()) {
      require(young_.size() == classes, "classes of the drift");
      for (const std::int64_t young : young_) require(young >= 0 && young <= kUnseen, "classes");
      require(rounds_ >= 0 && window_ >= 0 && log_.size() <= kLogged && fast_ >= 0.0 &&
                  fast_ <= 1.0 && slow_ >= 0.0 && slow_ <= 1.0,
              "drift");
    }
    log_.reserve(kLogged);
  }

 private:
  static constexpr std::int64_t kWindow = 500;
  static constexpr std::size_t kLogged = 100;
  static constexpr std::int64_t kYoung = 100;
  static constexpr std::int64_t kUnseen = kYoung + 1;

  static std::size_t classes_of(std::size_t outputs) { return std::max<std::size_t>(outputs, 2); }

  double fast_ = 0.0;
  double slow_ = 0.0;
  std::int64_t rounds_ = 0;  // t
  std::int64_t window_ = 0;  // rounds the window is still open, this one included
  std::int64_t drifts_ = 0;
  std::vector<std::int64_t> log_;
  std::vector<std::int64_t> young_;  // rows of each class that still do not count
};

}  // namespace budgetron
