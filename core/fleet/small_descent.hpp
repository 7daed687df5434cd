// BOGD in a block: f decays in every round of its key, and a loss adds (x, -step slope y). When the
// budget is full a random example leaves and the others grow to compensate
// (core/learners/budgets/sample.hpp, uniform). Coefs are clipped.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "fleet/small_learner.hpp"
#include "hypothesis/loss.hpp"

namespace budgetron {

class SmallDescent final : public SmallLearner {
 public:
  SmallDescent(const Spec& spec, std::size_t budget, std::size_t width, std::size_t outputs)
      : SmallLearner(budget, width, outputs),
        step_(spec.number("step")),
        decay_(1.0 - step_ * spec.number("regularization")),
        clip_(std::min(spec.number("clip"), std::numeric_limits<double>::max())),
        loss_(spec.part("loss")) {}

  Wish wish(const Block& block, const Sight& sight) override {
    slope_ = loss_.slope(sight.margin);
    if (slope_ != 0.0 && block.size() < budget_) return Wish::grow;
    return block.size() > 0 ? Wish::change : Wish::nothing;
  }
  void grow(const Block& block, const Sight& sight) override {
    decay(block, block.size() - 1);
    clip_newcomer(sight);
    block.put(block.size() - 1, sight.x, coefs_);
  }
  void change(const Block& block, const Sight& sight) override {
    const std::size_t n = block.size();
    decay(block, n);
    if (slope_ == 0.0) return;
    const std::size_t leaver = sight.random->below(n);
    const double growth = 1.0 / (1.0 - 1.0 / static_cast<double>(n));
    double* const coefs = block.coefs();
    for (std::size_t i = 0; i < n; ++i) {
      if (i == leaver) continue;
      const double size = std::sqrt(block.squared_coef(i));
      const double by = growth * size > clip_ ? clip_ / size : growth;
      for (std::size_t k = 0; k < outputs_; ++k) coefs[k * n + i] *= by;
    }
    clip_newcomer(sight);
    block.put(leaver, sight.x, coefs_);
  }

 private:
  void decay(const Block& block, std::size_t examples) const {
    const std::size_t n = block.size();
    for (std::size_t k = 0; k < outputs_; ++k) {
      for (std::size_t i = 0; i < examples; ++i) block.coefs()[k * n + i] *= decay_;
    }
  }
  void clip_newcomer(const Sight& sight) {
    set_coefs(sight, -step_ * slope_);
    const double size = size_of(coefs_);
    if (size <= clip_) return;
    for (double& coef : coefs_) coef *= clip_ / size;
  }

  double step_;
  double decay_;
  double clip_;
  Loss loss_;
  double slope_ = 0.0;  // of the row last passed to `wish`
};

}  // namespace budgetron
