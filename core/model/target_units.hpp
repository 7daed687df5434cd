// Units of the targets of a regression, which follow the stream: the learner gets
//
//   z = (y - m)/s, at most kFarthest of either sign,   and the answer is   m + s f(x)
//
// Statistics: the last kKept of the first kKept targets and then of every kEvery-th are kept, so
// that targets older than kKept kEvery rows are forgotten. They are evaluated after each of rows 1
// to 15, then eight times per doubling of the rows, at least every kLongest rows:
//
//   m  their median, always in force
//   s  1.4826 times the median |y - m| of those that differ from m (for a normal distribution: the
//      standard deviation). It comes into force if the current s is off by more than a factor kOff
//      at two evaluations in a row, within the first kKept rows at one. Then f <- (s_old/s) f, so
//      that s f(x) stays the same; but if s falls, no |f(x)| of the rows since the last evaluation
//      may grow beyond kFarthest. If s falls to 1/kFall or less at once, after the first kKept
//      rows, f was learned in wrong units: the largest |f(x)| of these rows is then at most 1.
//
// If f has a constant, the learner adds the movement of m to it, so that its answers stay the same:
// the median of 200 targets always moves a little, and follows a jump long after the learner has.
// This is not done in the first kKept rows, nor for more than kFarthest s at once: such targets
// were not learned. A learner with a belief becomes unsure if s was off by kFall or more (decision
// 0058).
//
// Medians, because one value, of any size, moves them by one rank. A row with an outlier is learned
// with z = kFarthest; if the next one is an outlier too, it is not learned. If kJump targets in a
// row are beyond kFarthest, the targets have jumped: the statistics restart.
//
// At the start m follows from the first target on. There is no s before there are kFirst targets
// and two of them differ, and without s nothing is learned. If the first kFirst targets or more are
// equal, the first that differs restarts the statistics. So the learner gets the same z for y and
// for a y + b, up to rounding.
//
// Cost: O(1) per row, O(kKept) per evaluation. Memory: kKept float64. Reasons:
// docs/develop/decisions/0036.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/state.hpp"

namespace budgetron {

class TargetUnits {
 public:
  TargetUnits() { window_.reserve(kKept); }

  [[nodiscard]] double centre() const { return centre_; }
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] std::int64_t changes() const { return changes_; }
  [[nodiscard]] bool known() const { return known_; }  // whether there is an s
  // Whether the row of the last counted target should be learned.
  [[nodiscard]] bool learns() const { return known_ && far_ < 2; }

  [[nodiscard]] double scaled(double target) const {
    return std::clamp((target - centre_) / scale_, -kFarthest, kFarthest);
  }
  [[nodiscard]] double answer(double f) const { return centre_ + scale_ * f; }

  // Counts a target for whose row f was the answer, in units; returns the factor by which f must be
  // multiplied.
  double count(double target, double f) {
    largest_ = std::max(largest_, std::abs(f));
    far_ = known_ && std::abs(scaled(target)) == kFarthest ? far_ + 1 : 0;
    const bool differs = !known_ && seen_ >= kFirst && target != centre_;
    if (differs || far_ == kJump) start_anew();
    keep(target);
    const double centre = centre_;
    const double scale = scale_;
    const double factor = seen_ % spacing() == 0 ? look() : 1.0;
    note_move(centre, scale, seen_ > static_cast<std::int64_t>(kKept));
    return factor;
  }
  // Counts a target while units are held; `decide_held` evaluates what was counted.
  void observe(double target, double f) {
    largest_ = std::max(largest_, std::abs(f));
    const bool far = known_ && std::abs(scaled(target)) == kFarthest;
    far_ = far ? std::min(far_ + 1, kJump - 1) : 0;
    keep(target);
  }
  // The factor for f after a merge; `shift` as after `count`.
  double decide_held() {
    const double centre = centre_;
    const double scale = scale_;
    off_ = true;  // a merge counts as two evaluations
    const double factor = look();
    note_move(centre, scale, true);
    return factor;
  }
  // By how much the last counted target shifted all targets, in the units before it.
  [[nodiscard]] double shift() const { return shift_; }
  // Whether it changed s by kFall or more.
  [[nodiscard]] bool far_off() const { return far_off_; }

  // The first pass of `fit`: counts a target, unless there are enough. `settle` ends the pass: m
  // and s are then those of the kept targets. If there is no s, the statistics restart.
  [[nodiscard]] bool surveys() const { return !known_ || seen_ < kSurveyed; }
  void survey(double target) {
    if (surveys()) count(target, 0.0);
  }
  void settle() {
    known_ = off_ = false;
    far_ = changes_ = 0;
    look();
    settled_ = known_;
    if (!settled_) *this = TargetUnits();
  }
  // Whether the first pass found an s. Its rows are then not counted again.
  [[nodiscard]] bool settled() const { return settled_; }

  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this));
    visitor.field("centre", centre_);
    visitor.field("scale", scale_);
    visitor.field("known", known_);
    visitor.field("seen", seen_);
    visitor.field("largest", largest_);
    visitor.field("far", far_);
    visitor.field("off", off_);
    visitor.field("changes", changes_);
    visitor.field("window", window_);
    if (!visitor.loading()) return;
    window_.reserve(kKept);
    require(std::isfinite(centre_) && scale_ >= kLeast && scale_ <= 1.0 / kLeast &&
                largest_ >= 0.0 && far_ < kJump,
            "target units");
    require(
        window_.size() == std::min(static_cast<std::size_t>(seen_), kKept) && all_finite(window_),
        "targets");
  }

 private:
  static constexpr std::size_t kKept = 200;
  static constexpr std::int64_t kEvery = 5;
  static constexpr std::int64_t kSurveyed = kEvery * static_cast<std::int64_t>(kKept);
  static constexpr std::int64_t kLongest = 64;  // rows between evaluations
  static constexpr std::int64_t kFirst = 4;     // targets before there is an s
  static constexpr double kOff = 1.5;
  static constexpr double kFarthest = 20.0;
  static constexpr double kFall = 4.0;
  static constexpr std::int64_t kJump = 8;
  static constexpr double kLeast = 1e-60;  // of s; 1/kLeast is the most
  static constexpr double kNormal = 1.4826;

  // What an evaluation changed; `counts`: a movement of m counts.
  void note_move(double centre, double scale, bool counts) {
    shift_ = known_ && counts ? (centre - centre_) / scale : 0.0;
    if (!(std::abs(shift_) <= kFarthest)) shift_ = 0.0;
    far_off_ = scale_ >= kFall * scale || scale_ <= scale / kFall;
  }

  void start_anew() {
    window_.clear();
    seen_ = 0;
    far_ = 0;
    off_ = 0;
    known_ = false;
  }

  void keep(double target) {
    const std::int64_t row = seen_++ - static_cast<std::int64_t>(kKept);
    if (row < 0) {
      window_.push_back(target);
    } else if (row % kEvery == 0) {
      window_[static_cast<std::size_t>(row / kEvery) % kKept] = target;
    }
  }

  // The rows between two evaluations.
  [[nodiscard]] std::int64_t spacing() const {
    const auto octave =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(seen_)));
    return std::clamp(octave / 8, std::int64_t{1}, kLongest);
  }

  double look() {
    const double largest = std::exchange(largest_, 0.0);
    std::array<double, kKept> numbers;
    std::copy(window_.begin(), window_.end(), numbers.begin());
    centre_ = median({numbers.data(), window_.size()});
    std::size_t others = 0;
    for (const double target : window_) {
      if (target != centre_) numbers[others++] = std::abs(target - centre_);
    }
    if (others == 0 || seen_ < kFirst) return 1.0;
    const double scale =
        std::clamp(kNormal * median({numbers.data(), others}), kLeast, 1.0 / kLeast);
    const bool off = scale > kOff * scale_ || scale < scale_ / kOff;
    const bool before = std::exchange(off_, off);
    const bool early = seen_ <= static_cast<std::int64_t>(kKept);
    if (known_ && !(off && (before || early))) return 1.0;
    known_ = true;
    off_ = false;
    ++changes_;
    const double factor = std::exchange(scale_, scale) / scale;
    if (factor <= 1.0) return factor;
    const bool wrong = factor >= kFall && !early;
    const double most = wrong ? 1.0 : std::max(kFarthest, largest);  // limit of |f(x)|
    return std::min(factor, most / largest);
  }

  static double median(std::span<double> numbers) {
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
    std::nth_element(numbers.begin(), middle, numbers.end());
    if (numbers.size() % 2 == 1) return *middle;
    return std::midpoint(*middle, *std::min_element(middle + 1, numbers.end()));
  }

  double centre_ = 0.0;       // m
  double scale_ = 1.0;        // s
  bool known_ = false;        // whether there is an s
  std::int64_t seen_ = 0;     // targets since the statistics started
  double shift_ = 0.0;        // of the last counted target
  bool far_off_ = false;      // of the last counted target
  double largest_ = 0.0;      // largest |f| since the last evaluation
  std::int64_t far_ = 0;      // targets in a row beyond kFarthest
  bool off_ = false;          // whether s was off at the last evaluation
  std::int64_t changes_ = 0;  // of s
  bool settled_ = false;      // not used after `fit`
  std::vector<double> window_;
};

}  // namespace budgetron
