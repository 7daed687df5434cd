// Tests whether the model learns anything. It is compared with the simplest guess: the class with
// the largest weight so far, in regression the mean of the targets so far, both from the rows
// before.
//
//   d_t = w_t (loss of the model - loss of the guess)     loss: 1 for a mistake; squared error
//
//   e_t = w_t (loss of the model - c loss of a poor guess)
//
// The poor guess draws a class by the shares p of the classes so far. It makes 1 - p_y mistakes, on
// average q = 1 - sum p^2. c = min(1.6, 0.2 + 0.8/q), so that c q < 1 for any number of classes; in
// regression it is the mean again and c = 2. Blocks b = 1, 2, ... of kRows rows: the model is
// *worse than the guess* if in a block, with z = sqrt(9 + 2 log b),
//
//   sum d > z sqrt(sum d^2)   and   sum e > z sqrt(sum e^2)
//
// that is by more than three standard errors. The 2 log b keeps an endless stream of noise from
// passing one day: the probabilities of all blocks have a finite sum. The rule for e is also for
// noise: there many learners predict each class about as often as it comes, like the poor guess (up
// to 1.5 times its mistakes were measured, and up to 1.5 times the squared errors of the mean).
//
// Its decisions have *died out* if all outputs are exactly 0 for kRows rows in a row while examples
// are stored: no stored example has a kernel value above 0 with any of the rows.
//
// The first verdict is final: after it nothing is counted. `told` is true once the user has seen
// it.
//
// Rows of weight 0 do not count, nor do rows that are learned again in a warm-up. A class that
// joins has weight 0 so far. Losses are at most kMost, so that no square overflows.
//
// Cost: O(classes) per row. Memory: one float64 per class. Reasons: docs/develop/decisions/0044.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/state.hpp"
#include "hypothesis/class_change.hpp"

namespace budgetron {

class Verdict {
 public:
  enum Kind : std::int64_t { none, worse, died_out };

  // `classes`: known so far; 0 in regression.
  explicit Verdict(std::size_t classes) : totals_(classes, 0.0) {}

  [[nodiscard]] const char* name() const {
    return kind_ == none ? "none" : kind_ == worse ? "worse" : "died out";
  }
  [[nodiscard]] bool reached() const { return kind_ != none; }
  // Mean losses in the block that led to the verdict.
  [[nodiscard]] double loss() const { return weight_ > 0.0 ? loss_ / weight_ : 0.0; }
  [[nodiscard]] double guess_loss() const { return weight_ > 0.0 ? guess_ / weight_ : 0.0; }
  // Whether there is a verdict that the user has not seen.
  [[nodiscard]] bool news() const { return reached() && !told_; }
  void tell() { told_ = reached(); }

  // Counts a decision on a row of this class, wrong if `mistake`. `silent`: all outputs were 0.
  void count_class(std::size_t code, bool mistake, double weight, bool silent) {
    const double loss = static_cast<double>(mistake);
    const bool first = total_ == 0.0;  // nothing to guess from: every loss is the model's
    const double guess = first ? loss : static_cast<double>(code != guessed_);
    const double poor = first ? loss : times_chance() * (1.0 - totals_[code] / total_);
    totals_[code] += weight;
    total_ += weight;
    if (totals_[code] > totals_[guessed_]) guessed_ = code;
    add(loss, guess, poor, weight, silent);
  }

  // Counts a decision on a row with this target.
  void count_target(double target, double decision, double weight, bool silent) {
    const double loss = (target - decision) * (target - decision);
    const double away = target - mean_;
    const double guess = total_ == 0.0 ? loss : away * away;
    total_ += weight;
    mean_ += away * (weight / total_);
    add(loss, guess, kTimesMean * guess, weight, silent);
  }

  void rearrange(const ClassChange& change) {
    if (change.one_joins()) {
      const std::size_t place = change.first_new();
      totals_.insert(totals_.begin() + static_cast<std::ptrdiff_t>(place), 0.0);
      if (guessed_ >= place && totals_.size() > 1) ++guessed_;
      return;
    }
    std::vector<double> before = std::move(totals_);
    totals_.assign(change.after, 0.0);
    const auto guessed = static_cast<int>(guessed_);
    guessed_ = 0;
    for (std::size_t k = 0; k < change.after; ++k) {
      if (change.order[k] < 0) continue;
      totals_[k] = before[static_cast<std::size_t>(change.order[k])];
      if (change.order[k] == guessed) guessed_ = k;
    }
  }

  void visit_state(StateVisitor& visitor) {
    const std::size_t classes = totals_.size();
    visitor.field("totals", totals_);
    visitor.field("total", total_);
    visitor.field("guessed", guessed_);
    visitor.field("mean", mean_);
    visitor.field("rows", rows_);
    visitor.field("blocks", blocks_);
    visitor.field("silent", silent_);
    visitor.field("excess", excess_);
    visitor.field("squares", squares_);
    visitor.field("poor_excess", poor_excess_);
    visitor.field("poor_squares", poor_squares_);
    visitor.field("loss", loss_);
    visitor.field("guess", guess_);
    visitor.field("weight", weight_);
    visitor.field("kind", kind_);
    visitor.field("told", told_);
    if (!visitor.loading()) return;
    require(totals_.size() == classes && all_finite(totals_) && total_ >= 0.0 &&
                guessed_ < std::max<std::size_t>(classes, 1) && std::isfinite(mean_),
            "totals of the verdict");
    require(rows_ < kRows && silent_ <= kRows && kind_ <= died_out && std::isfinite(excess_) &&
                squares_ >= 0.0 && std::isfinite(poor_excess_) && poor_squares_ >= 0.0 &&
                loss_ >= 0.0 && guess_ >= 0.0 && weight_ >= 0.0,
            "verdict");
  }

 private:
  static constexpr std::int64_t kRows = 1000;
  static constexpr double kMost = 1e150;        // of a loss
  static constexpr double kTimesChance = 1.6;   // the largest c
  static constexpr double kAbove = 0.8;         // of the way from q to 1
  static constexpr double kManySquares = 0.44;  // 1 - q above which c is certainly the largest
  static constexpr double kTimesMean = 2.0;     // c of regression

  // c
  [[nodiscard]] double times_chance() const {
    double squares = 0.0;
    for (const double total : totals_) squares += total * total;
    // If q is well below 0.8/1.4, as with two classes, no division is needed.
    if (squares > kManySquares * (total_ * total_)) return kTimesChance;
    const double q = 1.0 - squares / (total_ * total_);
    return q > 0.0 ? std::min(kTimesChance, 1.0 - kAbove + kAbove / q) : kTimesChance;
  }

  void add(double loss, double guess, double poor, double weight, bool silent) {
    // If an argument is NaN it is not smaller: it counts as kMost.
    loss = std::min(kMost, weight * loss);
    guess = std::min(kMost, weight * guess);
    const double d = loss - guess;
    const double e = loss - std::min(kMost, weight * poor);
    excess_ += d;
    squares_ += d * d;
    poor_excess_ += e;
    poor_squares_ += e * e;
    loss_ += loss;
    guess_ += guess;
    weight_ += weight;
    silent_ = silent ? silent_ + 1 : 0;
    if (silent_ == kRows) {
      kind_ = died_out;
    } else if (++rows_ == kRows) {
      judge();
    }
  }

  void judge() {
    ++blocks_;
    rows_ = 0;
    const double z2 = 9.0 + 2.0 * std::log(static_cast<double>(blocks_));
    if (excess_ > std::sqrt(z2 * squares_) && poor_excess_ > std::sqrt(z2 * poor_squares_)) {
      kind_ = worse;
    } else {
      excess_ = squares_ = poor_excess_ = poor_squares_ = loss_ = guess_ = weight_ = 0.0;
    }
  }

  bool told_ = false;
  std::vector<double> totals_;  // weight of each class so far
  double total_ = 0.0;          // weight of all rows so far
  std::size_t guessed_ = 0;     // the class with the largest weight
  double mean_ = 0.0;           // of the targets so far
  std::int64_t rows_ = 0;       // in this block
  std::int64_t blocks_ = 0;     // finished blocks
  std::int64_t silent_ = 0;     // rows in a row with f = 0
  double excess_ = 0.0;         // sum d
  double squares_ = 0.0;        // sum d^2
  double poor_excess_ = 0.0;    // sum e
  double poor_squares_ = 0.0;   // sum e^2
  double loss_ = 0.0;           // sum w loss
  double guess_ = 0.0;          // sum w loss of the guess
  double weight_ = 0.0;
  std::int64_t kind_ = none;
};

}  // namespace budgetron
