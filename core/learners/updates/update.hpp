// Update rules: how f moves, given the margin or error of the decision.
//
//   f <- decay * f (or a new rate) ;  then, if `store`, (x, coef * u) goes to the budget
//
// "Add, then shrink by phi" is {decay = phi, coef = phi * c, store}. An update sees numbers only,
// never the expansion, so every update goes with every budget.
#pragma once

#include <cstddef>
#include <memory>

#include "base/spec.hpp"
#include "base/state.hpp"
#include "hypothesis/turn.hpp"

namespace budgetron {

struct Move {
  double decay = 1.0;
  double rate = 0.0;  // if not 0: passed to Expansion::set_rate before anything is stored
  double coef = 0.0;
  bool store = false;
};

class Update {
 public:
  virtual ~Update() = default;
  virtual Move move(const Facts& facts) = 0;
  virtual void visit_state(StateVisitor&) {}

  std::size_t object_bytes = 0;  // of the object itself, set by its maker
};

std::unique_ptr<Update> make_update(const Spec& spec);

}  // namespace budgetron
