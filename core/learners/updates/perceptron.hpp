// The Perceptron and its relatives: each update chooses the coef of the example by its own rule.
//
//   perceptron  y f <= 0                        adds y                 (a tie counts as a mistake)
//   shrinking   y f <= 0                        adds y, then f <- shrink f
//   avp         y f < 1 - epsilon               adds step y / sqrt(1 + damping M)
//   alma        y f <= (1 - alpha) margin l/sqrt(j)   adds y C/(l sqrt(j)), l = sqrt(k(x, x))
//   tube        |target - f| > epsilon          adds step sign(target - f): the Perceptron that
//                                               regresses
//
// Rosenblatt 1958 and Freund & Schapire 1999; Dekel et al. 2008, section 4; Liao et al. 2024,
// algorithm 1 and corollary 2; Gentile 2001 with p = 2. Cost: O(1) after the kernel row.
#pragma once

#include <cmath>
#include <cstdint>

#include "learners/updates/update.hpp"

namespace budgetron {

class PerceptronUpdate final : public Update {
 public:
  explicit PerceptronUpdate(const Spec&) {}
  Move move(const Facts& facts) override {
    if (facts.margin > 0.0) return {};
    return {.coef = 1.0, .store = true};
  }
};

// f <- phi (f + y k(x, .)), eq. (19): the new example shrinks with the others.
class ShrinkingUpdate final : public Update {
 public:
  explicit ShrinkingUpdate(const Spec& spec) : phi_(spec.number("shrink")) {}
  Move move(const Facts& facts) override {
    if (facts.margin > 0.0) return {};
    return {.decay = phi_, .coef = phi_, .store = true};
  }

 private:
  double phi_;
};

class TubeUpdate final : public Update {
 public:
  explicit TubeUpdate(const Spec& spec)
      : step_(spec.number("step")), epsilon_(spec.number("epsilon")) {}
  Move move(const Facts& facts) override {
    if (!(facts.margin < -epsilon_)) return {};
    return {.coef = step_, .store = true};
  }

 private:
  double step_;
  double epsilon_;
};

// M counts the rounds with y f <= 0, including this one. The step U/sqrt(U^2 + M) of corollary 2 is
// step = 1 with damping = 1/U^2; damping = 0 keeps the step exactly constant.
class AvpUpdate final : public Update {
 public:
  explicit AvpUpdate(const Spec& spec)
      : step_(spec.number("step")),
        epsilon_(spec.number("epsilon")),
        damping_(spec.number("damping")) {}
  Move move(const Facts& facts) override {
    if (facts.margin <= 0.0) ++mistakes_;
    if (facts.margin >= 1.0 - epsilon_) return {};
    const double slowed = std::sqrt(1.0 + damping_ * static_cast<double>(mistakes_));
    return {.coef = step_ / slowed, .store = true};
  }
  void visit_state(StateVisitor& visitor) override { visitor.field("mistakes", mistakes_); }

 private:
  double step_;
  double epsilon_;
  double damping_;
  std::int64_t mistakes_ = 0;
};

// The k-th update has j = k. ALMA is this update with the norm ball of radius 1.
class AlmaUpdate final : public Update {
 public:
  explicit AlmaUpdate(const Spec& spec)
      : least_margin_((1.0 - spec.number("alpha")) * spec.number("margin")), C_(spec.number("C")) {}
  Move move(const Facts& facts) override {
    const double root = std::sqrt(static_cast<double>(updates_ + 1));
    const double length = std::sqrt(facts.self);
    if (facts.margin > least_margin_ * length / root) return {};
    ++updates_;
    return {.coef = C_ / (length * root), .store = true};
  }
  void visit_state(StateVisitor& visitor) override { visitor.field("updates", updates_); }

 private:
  double least_margin_;
  double C_;
  std::int64_t updates_ = 0;
};

}  // namespace budgetron
