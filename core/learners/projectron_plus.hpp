// Projectron++ with the paper's rule, "bounded" (Orabona, Keshet & Caputo 2009).
//
// Mistakes, y f <= 0, are projected or stored as in Projectron (budgets/project.hpp). A margin
// error, 0 < y f < 1, moves f within the span, a += y tau d, if that cannot hurt the bound; nothing
// is stored. With l = 1 - y f, p = k.d = ||P k(x, .)||^2 and delta its distance from k(x, .):
//
//   threshold    if l >= delta/threshold:  tau = min{l/p, 2 (l - delta/threshold)/p, 1}
//   budget only  tau = min{l/p, 1},  if 2l - tau p - 2 U delta >= 0,  U = sqrt((B+1)/ln(B+1))/4
//
// The rule "aggressive", which treats every y f < 1 as a mistake, is a round and not in this file.
// Cost: O(B^2) on mistakes and margin errors; memory B^2/2 doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "learners/budgets/project.hpp"
#include "learners/learner.hpp"

namespace budgetron {

template <class Real>
class ProjectronPlus final : public ExpansionLearner<Real> {
 public:
  ProjectronPlus(const Spec& spec, std::size_t outputs)
      : ExpansionLearner<Real>(make_kernel(spec.part("kernel")), outputs, spec.count("size")),
        budget_(spec),
        threshold_(spec.number("threshold")) {
    const double places = static_cast<double>(budget_.capacity()) + 1.0;
    radius_ = 0.25 * std::sqrt(places / std::log(places));
  }

  bool learn(const Turn<Real>& turn) override {
    if (turn.margin >= 1.0) return false;
    if (turn.margin <= 0.0) {
      budget_.admit(f_, turn, turn.direction);
      return true;
    }
    GramFactor& gram_factor = budget_.gram_factor();
    const double distance = gram_factor.project(turn.row->values.data(), turn.self);
    const double tau = portion(1.0 - turn.margin, gram_factor.reach(), std::sqrt(distance));
    if (tau == 0.0) return false;
    ++margin_steps_;
    coefs_.resize(turn.direction.size());
    for (std::size_t k = 0; k < coefs_.size(); ++k) coefs_[k] = tau * turn.direction[k];
    f_.shift(gram_factor.weights(), gram_factor.values(), coefs_);
    return true;
  }

  void reserve(const ByteLimit& limit) override {
    f_.reserve(limit);
    budget_.reserve(f_);
    coefs_.reserve(f_.outputs());
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this));
    visitor.part("expansion", f_);
    visitor.part("budget", budget_);
    if (visitor.loading()) budget_.check_loaded(f_);
    visitor.field("margin_steps", margin_steps_);
    visitor.scratch(coefs_);
  }
  void check_invariants() const override {
    f_.check_invariants();
    budget_.check_invariants(f_);
  }

 protected:
  void follow_units(const UnitChange&) override { budget_.follow_units(f_); }
  void lower_to(std::size_t size, Row<Real>& row, Random& random) override {
    budget_.lower_to(size, f_, row, random);
  }

 private:
  using ExpansionLearner<Real>::f_;

  // tau; 0 if the bound would be hurt.
  [[nodiscard]] double portion(double loss, double p, double delta) const {
    if (p <= 0.0) return 0.0;  // only by rounding: y f > 0 means that x is not orthogonal to S
    if (threshold_ > 0.0) {
      const double slack = loss - delta / threshold_;
      return slack >= 0.0 ? std::min({loss / p, 2.0 * slack / p, 1.0}) : 0.0;
    }
    const double tau = std::min(loss / p, 1.0);
    return 2.0 * loss - tau * p - 2.0 * radius_ * delta >= 0.0 ? tau : 0.0;
  }

  Project<Real> budget_;
  double threshold_;  // below 0: none
  double radius_;     // U
  std::int64_t margin_steps_ = 0;
  std::vector<double> coefs_;  // tau y
};

}  // namespace budgetron
