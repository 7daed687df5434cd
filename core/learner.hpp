// What a learner is: it decides, and it learns from what the decision was worth.
//
// The loop around it (model.hpp) turns targets into facts, counts, locks, and records; a learner
// knows of none of that. `decide` changes nothing but the row it is given, so any number of threads
// may decide at once; `learn` is called right after `decide`, with the same row.
#pragma once

#include <memory>
#include <span>

#include "expansion.hpp"
#include "turn.hpp"

namespace budgetron {

template <class Real>
class Learner {
 public:
  virtual ~Learner() = default;

  // f(x), K numbers; fills `row` (kernel values, k(x, x)).
  virtual void decide(const Sample<Real>& x, Row<Real>& row, std::span<double> outputs) const = 0;

  // What `predict` answers, where it differs from the decision recorded in a round (averaging).
  virtual void predict(const Sample<Real>& x, Row<Real>& row, std::span<double> outputs) const {
    decide(x, row, outputs);
  }

  // One update; true if it changed the model. Never called with k(x, x) <= 0.
  virtual bool learn(const Turn<Real>& turn) = 0;

  // A class has joined.
  virtual void rearrange(const ClassChange& change) = 0;

  // The stored examples, for looking inside; null for learners that store none.
  [[nodiscard]] virtual const Expansion<Real>* expansion() const { return nullptr; }

  // The rounds in which it saw the stream change; for learners that watch for it.
  [[nodiscard]] virtual std::span<const std::int64_t> drifts() const { return {}; }

  virtual void visit_state(StateVisitor& visitor) = 0;
  virtual void check_invariants() const {}
};

// A learner whose hypothesis is an expansion: all but those with a feature map.
template <class Real>
class ExpansionLearner : public Learner<Real> {
 public:
  ExpansionLearner(const Kernel& kernel, std::size_t outputs, std::size_t capacity)
      : f_(kernel, outputs, capacity) {}

  void decide(const Sample<Real>& x, Row<Real>& row, std::span<double> outputs) const override {
    f_.row(x, row);
    f_.decide(row, outputs);
  }
  void rearrange(const ClassChange& change) override { f_.rearrange(change); }
  [[nodiscard]] const Expansion<Real>* expansion() const override { return &f_; }
  void visit_state(StateVisitor& visitor) override { visitor.part("expansion", f_); }
  void check_invariants() const override { f_.check_invariants(); }

 protected:
  Expansion<Real> f_;
};

}  // namespace budgetron
