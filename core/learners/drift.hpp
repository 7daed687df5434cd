// Has the stream changed? The mistake rate of about the last 100 rounds against that of the last
// 2000:
//
//   fast += (mistake - fast)/min(t, 100) ;  slow += (mistake - slow)/min(t, 2000)
//   drift: t > 500, no window open, fast > slow + 4 sqrt(slow (1 - slow)/200 + 1e-6)
//
// An average with rate 1/100 has the variance slow (1 - slow)/199 while nothing changes. A drift
// sets slow to fast and opens a window of 500 rounds, this one the first, in which none is called.
//
// The log keeps the rounds of the last kLogged drifts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/state.hpp"

namespace budgetron {

class Drift {
 public:
  Drift() { log_.reserve(kLogged); }

  // One round; true if a drift is called in it.
  bool count(bool mistake, std::int64_t round) {
    if (window_ > 0) --window_;
    const double t = static_cast<double>(++rounds_);
    const double error = mistake ? 1.0 : 0.0;
    fast_ += (error - fast_) / std::min(t, 100.0);
    slow_ += (error - slow_) / std::min(t, 2000.0);
    const double spread = std::sqrt(slow_ * (1.0 - slow_) / 200.0 + 1e-6);
    if (rounds_ <= kWindow || window_ > 0 || !(fast_ > slow_ + 4.0 * spread)) return false;
    slow_ = fast_;
    window_ = kWindow;
    if (log_.size() == kLogged) log_.erase(log_.begin());
    log_.push_back(round);
    ++drifts_;
    return true;
  }

  [[nodiscard]] bool open() const { return window_ > 0; }
  [[nodiscard]] std::span<const std::int64_t> log() const { return log_; }

  void visit_state(StateVisitor& visitor) {
    visitor.field("fast", fast_);
    visitor.field("slow", slow_);
    visitor.field("watched", rounds_);
    visitor.field("window", window_);
    visitor.field("drifts", drifts_);
    visitor.field("drift_log", log_);
    if (visitor.loading()) {
      require(rounds_ >= 0 && window_ >= 0 && log_.size() <= kLogged && fast_ >= 0.0 &&
                  fast_ <= 1.0 && slow_ >= 0.0 && slow_ <= 1.0,
              "drift");
    }
    log_.reserve(kLogged);
  }

 private:
  static constexpr std::int64_t kWindow = 500;
  static constexpr std::size_t kLogged = 100;

  double fast_ = 0.0;
  double slow_ = 0.0;
  std::int64_t rounds_ = 0;  // t
  std::int64_t window_ = 0;  // rounds it is still open, this one included
  std::int64_t drifts_ = 0;
  std::vector<std::int64_t> log_;
};

}  // namespace budgetron
