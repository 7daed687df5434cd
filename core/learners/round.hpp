// The round: the learner that is made of parts (an update, a budget, a norm ball).
//
//   row  = f.row(x) ;  p = f.dot(row)             decide, recorded before learning
//   move = update(facts)                          {decay, coef, store}
//   f.scale(move.decay)                           O(1)
//   budget.admit(f, x, row, move.coef * u)        the only place that changes what is stored
//   if ||f|| > radius: f.scale(radius / ||f||)    norm ball
//
// Cost: the kernel row, plus the cost of the budget in rounds that store.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "learners/budgets/budget.hpp"
#include "learners/learner.hpp"
#include "learners/updates/update.hpp"

namespace budgetron {

template <class Real>
class Round final : public ExpansionLearner<Real> {
 public:
  Round(const Spec& spec, std::size_t outputs)
      : Round(spec, outputs, make_budget<Real>(spec.part("budget"))) {}

  bool learn(const Turn<Real>& turn) override {
    const Move move = update_->move(turn);
    f_.scale(move.decay);
    if (move.rate != 0.0) f_.set_rate(move.rate);
    bool changed = move.decay != 1.0 || move.rate != 0.0;
    if (move.store) {
      const std::int64_t refused = budget_->refusals();
      coefs_.resize(turn.direction.size());
      for (std::size_t k = 0; k < coefs_.size(); ++k) coefs_[k] = move.coef * turn.direction[k];
      if (budget_->drops()) this->make_room(turn);
      budget_->admit(f_, turn, coefs_);
      changed |= budget_->refusals() == refused;
      if (std::isfinite(radius_)) {
        const double norm = std::sqrt(f_.squared_norm());
        if (norm > radius_) f_.scale(radius_ / norm);
      }
    }
    return changed;
  }

  void reserve(const ByteLimit& limit) override {
    f_.reserve(limit);
    budget_->reserve(f_);
    coefs_.reserve(f_.outputs());
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this) + update_->object_bytes + budget_->object_bytes);
    visitor.part("expansion", f_);
    visitor.part("update", *update_);
    visitor.part("budget", *budget_);
    if (visitor.loading()) budget_->check_loaded(f_);
    visitor.scratch(coefs_);
  }
  void check_invariants() const override {
    f_.check_invariants();
    budget_->check_invariants(f_);
  }

 protected:
  void follow_units(const UnitChange&) override { budget_->follow_units(f_); }
  void lower_to(std::size_t size, Row<Real>& row, Random& random) override {
    budget_->lower_to(size, f_, row, random);
  }

 private:
  using ExpansionLearner<Real>::f_;

  Round(const Spec& spec, std::size_t outputs, std::unique_ptr<Budget<Real>> budget)
      : ExpansionLearner<Real>(make_kernel(spec.part("kernel")), outputs, budget->capacity()),
        update_(make_update(spec.part("update"))),
        budget_(std::move(budget)),
        radius_(spec.number("radius")) {
    if (std::isfinite(radius_)) f_.keep_norm();
    budget_->prepare(f_);
  }

  std::unique_ptr<Update> update_;
  std::unique_ptr<Budget<Real>> budget_;
  double radius_;              // infinity: no ball
  std::vector<double> coefs_;  // coef * u of this round
};

}  // namespace budgetron
