// Gradient descent on a regularised loss: f <- (1 - step lambda) f - step slope u k(x, .).
//
//   gradient  a constant step (Kivinen, Smola & Williamson 2004; Zhao et al. 2012, eq. (2))
//   pegasos   step 1/(lambda t), t counting the learned rounds from 1 (Shalev-Shwartz, Singer,
//             Srebro & Cotter 2011; Le et al. 2017, algorithm 1), without the optional ball
//
// With Pegasos's steps f = 1/(lambda t) sum_i c_i k(x_i, .), where c_i = -slope_i u_i never
// changes: the factor is the expansion's rate, so a round costs O(1) and equal c_i stay equal to
// the bit.
#pragma once

#include <cstdint>

#include "hypothesis/loss.hpp"
#include "learners/updates/update.hpp"

namespace budgetron {

class GradientUpdate final : public Update {
 public:
  explicit GradientUpdate(const Spec& spec)
      : step_(spec.number("step")),
        decay_(1.0 - step_ * spec.number("regularization")),
        loss_(spec.part("loss")) {}
  Move move(const Facts& facts) override {
    const double slope = loss_.slope(facts.margin);
    return {.decay = decay_, .coef = -step_ * slope, .store = slope != 0.0};
  }

 private:
  double step_;
  double decay_;
  Loss loss_;
};

class PegasosUpdate final : public Update {
 public:
  explicit PegasosUpdate(const Spec& spec)
      : lambda_(spec.number("regularization")), loss_(spec.part("loss")) {}
  Move move(const Facts& facts) override {
    const double slope = loss_.slope(facts.margin);
    const double step = 1.0 / (lambda_ * static_cast<double>(++rounds_));
    return {.rate = step, .coef = -slope * step, .store = slope != 0.0};
  }
  void visit_state(StateVisitor& visitor) override { visitor.field("rounds", rounds_); }

 private:
  double lambda_;
  Loss loss_;
  std::int64_t rounds_ = 0;
};

}  // namespace budgetron
