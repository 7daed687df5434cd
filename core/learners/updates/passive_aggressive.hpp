// Passive-aggressive: the smallest move that removes the loss l = max(0, 1 - y f), softened by C.
//
//   PA-I   tau = min(C, l / k(x, x))
//   PA-II  tau = l / (k(x, x) + 1/(2C))          adds (x, y tau) where l > 0
//
// Regression has l = |error| - epsilon and sign(error) for y. In terms of the margin (turn.hpp)
// both losses are its distance below 1, or below -epsilon.
//
// Crammer, Dekel, Keshet, Shalev-Shwartz & Singer 2006, eqs. (11), (24). Cost: O(1) after the
// kernel row.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "learners/updates/update.hpp"

namespace budgetron {

class PassiveAggressiveUpdate final : public Update {
 public:
  PassiveAggressiveUpdate(const Spec& spec, double enough)
      : C_(spec.number("C")), second_(spec.text("variant") == "II"), enough_(enough) {
    if (!second_ && spec.text("variant") != "I") {
      throw std::invalid_argument("no passive-aggressive variant is called '" +
                                  spec.text("variant") + "'");
    }
  }
  Move move(const Facts& facts) override {
    if (!(facts.margin < enough_)) return {};
    const double loss = enough_ - facts.margin;
    const double tau =
        second_ ? loss / (facts.self + 1.0 / (2.0 * C_)) : std::min(C_, loss / facts.self);
    return {.coef = tau, .store = true};
  }

 private:
  double C_;
  bool second_;
  double enough_;  // the least margin without a loss
};

}  // namespace budgetron
