// The shares of belief and reflex in a regression by Budgetron (docs/develop/decisions/0073):
//
//   p = 1 - q,  q = sum e (e - e')/sum (e - e')^2, from 0 to 1
//
// e and e' are the errors that the belief and the reflex alone would have made; the sums are
// discounted over 500 rounds. f' - f = e - e', so this q gives p f + q f' the least sum of squares.
// It depends on how the two errors correlate, which weights by the size of the errors ignore: a
// reflex that is noisier than the belief still gets a share if it errs on other rows.
//
// The reflex leads if  sum l > 2 sqrt(sum l^2),  l = e^2 - e'^2 = (2 e - (e - e')) (e - e'), and
// the sums were started at least 500 rounds ago: then the belief takes over the answer, and the
// sums restart. Without the root a single target far from all others would be enough.
//
// A row counts by its weight. Multiplying all targets by a number changes no share.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/state.hpp"

namespace budgetron {

class ReflexMix {
 public:
  void count(double row_weight, double belief_error, double reflex_error) {
    const double weight = std::clamp(row_weight, 1.0 / kMost, kMost);
    const double fades = std::min(1.0, weight) / kHorizon;
    const double error = bounded(belief_error);
    const double apart = bounded(belief_error - reflex_error);
    const double lead = weight * apart * (2.0 * error - apart);
    gains_ += weight * (error * apart) - gains_ * fades;
    squares_ += weight * (apart * apart) - squares_ * fades;
    leads_ += lead * lead - leads_ * fades;
    rows_ += std::min(1.0, weight);
  }

  // The weight of the belief's f in the answer; the reflex has the rest.
  [[nodiscard]] double of_belief() const {
    return squares_ > 0.0 ? 1.0 - std::clamp(gains_ / squares_, 0.0, 1.0) : 1.0;
  }

  [[nodiscard]] bool reflex_leads() const {
    return rows_ >= kHorizon && 2.0 * gains_ - squares_ > kSure * std::sqrt(leads_);
  }

  // Targets, and so the errors, are multiplied by `factor`.
  void scale(double factor) {
    const double square = std::min(factor * factor, kMost);
    gains_ = std::clamp(gains_ * square, -kMostSum, kMostSum);
    squares_ = std::min(squares_ * square, kMostSum);
    leads_ = std::min(leads_ * square * square, kMostSum);
  }

  void visit_state(StateVisitor& visitor) {
    visitor.field("reflex_gains", gains_);
    visitor.field("reflex_squares", squares_);
    visitor.field("reflex_leads", leads_);
    visitor.field("reflex_rows", rows_);
    if (!visitor.loading()) return;
    require(std::isfinite(gains_) && squares_ >= 0.0 && std::isfinite(squares_) && leads_ >= 0.0 &&
                std::isfinite(leads_) && rows_ >= 0.0 && std::isfinite(rows_),
            "reflex");
  }

 private:
  static constexpr double kHorizon = 500.0;  // rounds over which errors are discounted
  static constexpr double kSure = 2.0;       // deviations by which the reflex must lead
  static constexpr double kMost = 1e45;      // limit of errors and weights: keeps the sums finite
  static constexpr double kMostSum = 1e280;

  static double bounded(double error) { return std::clamp(error, -kMost, kMost); }

  double gains_ = 0.0;    // sum of e (e - e')
  double squares_ = 0.0;  // sum of (e - e')^2
  double leads_ = 0.0;    // sum of (e^2 - e'^2)^2
  double rows_ = 0.0;     // since the start; a row of small weight counts little
};

}  // namespace budgetron
