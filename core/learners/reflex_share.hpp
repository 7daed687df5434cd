// The shares of belief and reflex in Budgetron's answer (docs/develop/decisions/0051):
//
//   p = 1/(1 + exp((e - e' - h)/2)),  e and e' the mistakes that each alone would have made,
//   discounted over 500 rounds;  h = 4/rho, the head start of the belief
//
// A row counts by its weight. All rows together count as many rows without weights as would give an
// equally certain mean, n rho = (sum w)^2/sum w^2: otherwise one heavy row would decide. rho is 1
// if weights are equal. The less equal they are, the fewer rows there are to compare the two, and
// the larger is the lead that the reflex, which never averages, needs.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/state.hpp"

namespace budgetron {

class ReflexShare {
 public:
  void count(double row_weight, bool belief_errs, bool reflex_errs) {
    const double weight = std::clamp(row_weight, 1e-100, 1e100);  // keeps its square finite
    const double fades = std::min(1.0, weight) / kHorizon;
    weights_ += weight - weights_ * fades;
    squares_ += weight * weight - squares_ * fades;
    rows_ += std::min(1.0, weight) - rows_ * fades;  // a row of weight 0 changes nothing
    const double by = weight * (weights_ / squares_);
    belief_ += (belief_errs ? by : 0.0) - belief_ * fades;
    reflex_ += (reflex_errs ? by : 0.0) - reflex_ * fades;
  }

  // The weight of the belief's f in the answer; the reflex has the rest.
  [[nodiscard]] double of_belief() const { return 1.0 / (1.0 + std::exp(kEta * lead())); }
  // Whether the reflex has more than half.
  [[nodiscard]] bool reflex_leads() const { return lead() > 0.0; }
  // Whether the reflex has almost none.
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
  static constexpr double kHorizon = 500.0;  // rounds over which mistakes are discounted
  static constexpr double kEta = 0.5;        // weight of a mistake
  static constexpr double kHeadStart = 4.0;  // mistakes by which the reflex must be better
  static constexpr double kSilent = 0.99;

  // The mistakes by which the reflex is better, minus the required ones.
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
