// Who answers, the belief or the reflex of Budgetron (docs/develop/decisions/0051):
//
//   p = 1/(1 + exp((e - e' - h)/2)),  e and e' what mistakes each would have made, discounted over
//   500 rounds;  h = 4/rho, the head start of the belief
//
// A row counts as much as it weighs, and all of them together as so many rows without weights as
// make a mean as certain, n rho = (sum w)^2/sum w^2: else one heavy row would decide. rho is 1
// where weights are equal. The less equal they are, the fewer rows tell the two apart, and the more
// has the reflex, which never averages, to be better by.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/state.hpp"

namespace budgetron {

class ReflexShare {
 public:
  void count(double row_weight, bool belief_errs, bool reflex_errs) {
    const double weight = std::clamp(row_weight, 1e-100, 1e100);  // its square is a number
    const double fades = std::min(1.0, weight) / kHorizon;
    weights_ += weight - weights_ * fades;
    squares_ += weight * weight - squares_ * fades;
    rows_ += std::min(1.0, weight) - rows_ * fades;  // a row that weighs nothing changes nothing
    const double by = weight * (weights_ / squares_);
    belief_ += (belief_errs ? by : 0.0) - belief_ * fades;
    reflex_ += (reflex_errs ? by : 0.0) - reflex_ * fades;
  }

  // Weight of the belief's f in the answer; the reflex has the rest.
  [[nodiscard]] double of_belief() const { return 1.0 / (1.0 + std::exp(kEta * lead())); }
  // Whether the reflex has more than half.
  [[nodiscard]] bool reflex_leads() const { return lead() > 0.0; }
  // Whether the reflex has next to nothing.
  [[nodiscard]] bool silent() const { return of_belief() > kSilent; }

  void visit_state(StateVisitor& visitor) {
    visitor.field("belief_mistakes", belief_);
    visitor.field("reflex_mistakes", reflex_);
    visitor.field("weights_sum", weights_);
    visitor.field("squares_sum", squares_);
    visitor.field("rows_sum", rows_);
    if (!visitor.loading()) return;
    for (const double value : {belief_, reflex_, weights_, squares_, rows_}) {
      require(value >= 0.0 && std::isfinite(value), "reflex");
    }
  }

 private:
  static constexpr double kHorizon = 500.0;  // rounds that mistakes are counted over
  static constexpr double kEta = 0.5;        // how much a mistake weighs
  static constexpr double kHeadStart = 4.0;  // mistakes that the reflex must be better by
  static constexpr double kSilent = 0.99;

  // Mistakes that the reflex is better by, of those that it must not be.
  [[nodiscard]] double lead() const { return belief_ - reflex_ - kHeadStart / evenness(); }
  [[nodiscard]] double evenness() const {
    if (rows_ == 0.0) return 1.0;
    return std::min(1.0, weights_ / squares_ * (weights_ / rows_));
  }

  double belief_ = 0.0;
  double reflex_ = 0.0;
  double weights_ = 0.0;
  double squares_ = 0.0;
  double rows_ = 0.0;
};

}  // namespace budgetron
