// RBP in a block: a mistake adds (x, y); when the budget is full it replaces a stored example, all
// with equal probability (core/learners/budgets/remove.hpp).
#pragma once

#include "fleet/small_learner.hpp"

namespace budgetron {

class SmallPerceptron final : public SmallLearner {
 public:
  using SmallLearner::SmallLearner;

  Wish wish(const Block& block, const Sight& sight) override {
    if (sight.margin > 0.0) return Wish::nothing;
    return block.size() < budget_ ? Wish::grow : Wish::change;
  }
  void change(const Block& block, const Sight& sight) override {
    block.put(sight.random->below(block.size()), sight.x, sight.direction);
  }
  void grow(const Block& block, const Sight& sight) override {
    block.put(block.size() - 1, sight.x, sight.direction);
  }
};

}  // namespace budgetron
