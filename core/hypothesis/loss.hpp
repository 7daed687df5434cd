// Losses of the gradient learners, as functions of the margin m (turn.hpp).
//
// Classification, m = y f(x), in general <u, f(x)>:
//
//   hinge         max(0, 1 - m)                          slope -1 where m < 1, strictly
//   smooth-hinge  0 | (1 - m)^2/(2 tau) | 1 - m - tau/2  slope -(1-m)/tau clipped to [-1, 0]
//   logistic      log(1 + exp(-m))                       slope -1/(1 + exp(m))
//
// Regression, m = -|e| with the error e = target - f(x) and u = sign(e):
//
//   squared              max(0, e^2 - epsilon^2)/2       slope -|e| where |e| > epsilon, strictly
//   absolute             |e|                             slope -1 where e != 0
//   epsilon-insensitive  max(0, |e| - epsilon)           slope -1 where |e| > epsilon, strictly
//
// (Le et al. 2017, section 7.) The slope is with respect to m, so the step "f <- f - step slope u"
// adds the coef -step * slope in the direction u. At a kink the slope is 0, that of the flat side.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/spec.hpp"

namespace budgetron {

class Loss {
 public:
  explicit Loss(const Spec& spec) {
    const std::string& kind = spec.text("kind");
    if (kind == "hinge") {
      kind_ = Kind::hinge;
    } else if (kind == "smooth-hinge") {
      kind_ = Kind::smooth_hinge;
      tau_ = spec.number("tau");
    } else if (kind == "logistic") {
      kind_ = Kind::logistic;
    } else if (kind == "squared") {
      kind_ = Kind::squared;
      epsilon_ = spec.number("epsilon");
    } else if (kind == "absolute") {
      kind_ = Kind::absolute;
    } else if (kind == "epsilon-insensitive") {
      kind_ = Kind::epsilon_insensitive;
      epsilon_ = spec.number("epsilon");
    } else {
      throw std::invalid_argument("no loss is called '" + kind + "'");
    }
  }

  [[nodiscard]] double slope(double margin) const {
    switch (kind_) {
      case Kind::hinge:
        return margin < 1.0 ? -1.0 : 0.0;
      case Kind::smooth_hinge:
        return -std::clamp((1.0 - margin) / tau_, 0.0, 1.0);
      case Kind::logistic:
        return -1.0 / (1.0 + std::exp(margin));
      case Kind::squared:
        return margin < -epsilon_ ? margin : 0.0;
      case Kind::absolute:
        return margin < 0.0 ? -1.0 : 0.0;
      case Kind::epsilon_insensitive:
        return margin < -epsilon_ ? -1.0 : 0.0;
    }
    return 0.0;
  }

  // Whether the slope has no bound.
  [[nodiscard]] bool squared() const { return kind_ == Kind::squared; }

 private:
  enum class Kind { hinge, smooth_hinge, logistic, squared, absolute, epsilon_insensitive };
  Kind kind_ = Kind::hinge;
  double tau_ = 0.5;
  double epsilon_ = 0.0;
};

}  // namespace budgetron
