// One round, as a learner sees it: the row's kernel values and what the target says about f(x).
#pragma once

#include <cstdint>
#include <span>

#include "base/random.hpp"
#include "base/sample.hpp"
#include "hypothesis/row.hpp"

namespace budgetron {

// The numbers by which an update rule decides. Classification: direction u = y, or (e_y - e_z)/2
// with z the best wrong class, and margin = y f(x), in general <u, f(x)>. Regression: error =
// target - f(x), u = sign(error) (+1 for 0), and margin = <u, f(x) - target> = -|error|. In both a
// larger margin is better, and moving f(x) along u raises it.
//
// A row of weight w moves f by w times as much: u is w times the direction above; the margin does
// not change.
struct Facts {
  double margin = 0.0;
  double weight = 1.0;  // > 0
  double error = 0.0;
  double target = 0.0;     // regression only
  double self = 1.0;       // k(x, x)
  std::int64_t round = 0;  // rounds before this one
};

template <class Real>
struct Turn : Facts {
  Sample<Real> x;
  Row<Real>* row = nullptr;
  std::span<const double> outputs;    // f(x), K numbers, before any update
  std::span<const double> direction;  // u, K numbers
  Random* random = nullptr;
};

}  // namespace budgetron
