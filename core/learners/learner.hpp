// The interface of learners: decide, then learn from the decision and the target.
//
// The loop around it (model.hpp) turns targets into facts, counts, locks and records. `decide`
// changes only the row it is given, so any number of threads may call it at once. `learn` is called
// right after `decide`, with the same row.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hypothesis/expansion.hpp"
#include "hypothesis/straight_part.hpp"
#include "hypothesis/turn.hpp"

namespace budgetron {

// The coefs of f, for averaging: output k of f(x) is factor * sum_i coefs[k * stride + i] phi_i(x),
// where phi_i(x) is a kernel value or a feature of the learner's map.
struct CoefView {
  std::size_t count = 0;
  const double* coefs = nullptr;
  std::size_t stride = 0;
  double factor = 1.0;
  const std::int64_t* ids = nullptr;  // if coefs may change places or leave
};

// Stored examples with the coefs that `predict` uses: output k of its answer is the sum over all
// shares of coef(i, k) k(x_i, x).
template <class Real>
struct Share {
  const Expansion<Real>* examples;
  std::function<double(std::size_t i, std::size_t k)> coef;
};

template <class Real>
class Learner {
 public:
  virtual ~Learner() = default;

  // f(x), K numbers; fills `row` (kernel values, k(x, x)).
  virtual void decide(const Sample<Real>& x, Row<Real>& row, std::span<double> outputs) const = 0;

  [[nodiscard]] virtual CoefView coef_view() const = 0;
  // Called before the first row if hypotheses are averaged: f must equal `coef_view`.
  virtual void be_averaged() {}
  // Budgetron: whether it dropped its straight part because rows are dense; and that it must not.
  [[nodiscard]] virtual bool lost_straight() const { return false; }
  virtual void keep_straight() {}
  // It takes the place of a learner with these drifts.
  virtual void take_drifts(std::span<const std::int64_t>) {}
  // Whether it can keep the most recent examples instead of the most useful ones; whether it does;
  // makes a new learner do so.
  [[nodiscard]] virtual bool can_be_recent() const { return false; }
  [[nodiscard]] virtual bool recent() const { return false; }
  virtual void be_recent() {}
  // f(x) with other coefs: sum_i coefs[i] phi_i(x) for the x whose row was decided last; `count` is
  // padded.
  [[nodiscard]] virtual double decide_with(const Row<Real>& row, const double* coefs,
                                           std::size_t count) const = 0;

  // One update; true if it changed the model. Never called if k(x, x) <= 0.
  virtual bool learn(const Turn<Real>& turn) = 0;

  // Units change: converts the stored examples, keeps the coefs. If gamma must be found again, it
  // becomes `gamma` times 1 over the median squared distance.
  virtual UnitsChanged change_units(const UnitChange& change, double gamma_factor) = 0;

  // How much f depends on each feature (relevance.hpp), or empty; restarts the count.
  [[nodiscard]] virtual std::vector<double> take_relevance() { return {}; }

  // Whether it holds a belief about f; then the variance of f(x), relative to that of the noise: of
  // the row just decided, and of the last row learned, before it was learned.
  [[nodiscard]] virtual bool believes() const { return false; }
  [[nodiscard]] virtual double variance(Row<Real>&, const Sample<Real>&) const { return 0.0; }
  [[nodiscard]] virtual double last_variance() const { return 0.0; }

  // Targets get another unit: f, and everything measured in that unit, is multiplied by `factor`.
  virtual void scale_targets(double factor) = 0;
  // Targets get another origin and become larger by `by`: so does f, if it has a constant to add it
  // to. Returns whether it has.
  virtual bool shift_targets(double) { return false; }
  // The unit was far off: what was learned in it is no longer certain.
  virtual void doubt() {}

  // Called when a class joins.
  virtual void rearrange(const ClassChange& change) = 0;

  // For a worker between a base and a merge (docs/develop/decisions/0066): keeps its stored
  // examples, and calls no drift, until `decide_held`. Learners without a rule for this do nothing.
  virtual void hold() {}
  // Whether it is about to store or replace examples, because the stream changes.
  [[nodiscard]] virtual bool unsettled() const { return false; }
  // Ends `hold` after a merge, and decides what was postponed, as of this round.
  virtual void decide_held(std::int64_t /*round*/) {}

  // Allocates all the memory that this learner, and a row it decides, will ever need. Called before
  // the first row. Contract: nothing is allocated afterwards.
  virtual void reserve(const ByteLimit& limit) = 0;
  virtual void reserve_row(Row<Real>& row) const = 0;
  [[nodiscard]] virtual std::size_t most_coefs() const = 0;
  // Whether x could be stored if nothing else were.
  [[nodiscard]] virtual bool fits_alone(const Sample<Real>&) const { return true; }

  // The expansion, if `decide` reads only x and its kernel row: such rows can be computed ahead and
  // decided later (`decide_by`). Otherwise null.
  [[nodiscard]] virtual const Expansion<Real>* by_row() const { return nullptr; }
  virtual void decide_by(Row<Real>& row, const Sample<Real>&, std::span<double> outputs) const {
    by_row()->decide(row, outputs);
  }

  // In f: the coef of stored example i in output k, and the weight of coordinate j of the straight
  // part.
  [[nodiscard]] virtual double coef(std::size_t i, std::size_t k) const {
    return expansion()->coef(i, k);
  }
  [[nodiscard]] virtual double weight(std::size_t j, std::size_t k) const {
    return straight_part()->weights(k)[j];
  }
  // The straight part of f; null for most learners.
  [[nodiscard]] virtual const StraightPart* straight_part() const { return nullptr; }

  // If the last round or change of units united examples: for each example before it, the place of
  // the one that got its coefs. Otherwise empty.
  [[nodiscard]] virtual std::span<const std::uint32_t> united() const { return {}; }

  // The stored examples, for inspection; null for learners that store none.
  [[nodiscard]] virtual const Expansion<Real>* expansion() const { return nullptr; }

  // Removes examples, by the learner's own rule or the oldest first, down to this budget, and then
  // until their features fit `slots` (0: any number). `row` is scratch.
  virtual void lower(std::size_t budget, std::size_t slots, Row<Real>& row, Random& random) = 0;

  // The answer of `predict` as shares of stored examples; empty for learners that store none.
  [[nodiscard]] virtual std::vector<Share<Real>> shares() const { return {}; }
  // For learners with a feature map: writes the frequencies of one feature to `out` and returns
  // their number; 0 for other learners. f(x) is the sum over `coef_view` of cosines, then sines, of
  // the angles.
  virtual std::size_t frequencies(std::int32_t, std::vector<Real>&) const { return 0; }
  // The rounds in which it called a drift, for learners that test for it.
  [[nodiscard]] virtual std::span<const std::int64_t> drifts() const { return {}; }

  // Reports events of stored examples to this log from now on; null: to none.
  virtual void watch(EventLog*) {}

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
    this->decide_by(row, x, outputs);
  }
  [[nodiscard]] CoefView coef_view() const override {
    return {f_.size(), f_.stored_coefs(0), f_.stride(), f_.factor(), f_.ids()};
  }
  [[nodiscard]] double decide_with(const Row<Real>& row, const double* coefs,
                                   std::size_t count) const override {
    return row_functions<Real>().dot(row.values.data(), coefs, count);
  }
  UnitsChanged change_units(const UnitChange& change, double gamma_factor) override {
    std::vector<double> before;
    std::vector<double> after;
    if (f_.watched()) f_.decide_examples(before);
    const double norm = f_.capacity() > 0 ? f_.find_squared_norm() : 0.0;
    f_.convert(change);
    double squared = change.by_distance() ? f_.median_squared_distance() : 0.0;
    if (squared > 0.0) squared = std::max(squared, change.least_squared);
    UnitsChanged changed;
    changed.gamma = f_.kernel().gamma;
    const double gamma = gamma_factor / squared;
    if (change.finds_gamma && usable_gamma<Real>(gamma)) changed.gamma = gamma;
    united_.clear();
    changed.delta = resize_cells(change, squared);
    f_.set_gamma(changed.gamma);
    if (f_.capacity() > 0) {  // with a budget coefs may cancel out, which another kernel undoes
      const double now = f_.find_squared_norm();
      if (now > norm) f_.multiply(std::sqrt(norm / now));
    }
    follow_units(change);
    if (f_.watched()) f_.decide_examples(after);
    changed.moved = mean_move(before, after);
    return changed;
  }
  void scale_targets(double factor) override { f_.multiply(factor); }
  void rearrange(const ClassChange& change) override { f_.rearrange(change); }
  void reserve(const ByteLimit& limit) override { f_.reserve(limit); }
  void reserve_row(Row<Real>& row) const override { f_.reserve_row(row); }
  [[nodiscard]] std::size_t most_coefs() const override { return f_.capacity(); }
  [[nodiscard]] bool fits_alone(const Sample<Real>& x) const override { return f_.fits_alone(x); }
  void lower(std::size_t budget, std::size_t slots, Row<Real>& row, Random& random) override {
    f_.reserve_row(row);
    united_.clear();
    lower_to(budget, row, random);
    while (slots > 0 && f_.features() > slots) lower_to(f_.size() - 1, row, random);
  }
  [[nodiscard]] std::span<const std::uint32_t> united() const override { return united_; }
  [[nodiscard]] const Expansion<Real>* by_row() const override { return &f_; }
  void decide_by(Row<Real>& row, const Sample<Real>&, std::span<double> outputs) const override {
    f_.decide(row, outputs);
  }
  [[nodiscard]] const Expansion<Real>* expansion() const override { return &f_; }
  [[nodiscard]] std::vector<Share<Real>> shares() const override {
    return {{&f_, [this](std::size_t i, std::size_t k) { return f_.coef(i, k); }}};
  }
  void watch(EventLog* log) override { f_.watch(log); }
  void visit_state(StateVisitor& visitor) override { visitor.part("expansion", f_); }
  void check_invariants() const override { f_.check_invariants(); }

 protected:
  // The examples of f_ were converted; `squared` is their median squared distance (0: unknown).
  // Learners with cells resize them and return their diameter; examples may be united.
  virtual double resize_cells(const UnitChange&, double /*squared*/) { return 0.0; }
  // The examples of f_ were converted and have another kernel: updates what is kept beside f_.
  virtual void follow_units(const UnitChange&) {}
  // With a byte limit: drops examples until the features of x fit beside the stored ones.
  void make_room(const Turn<Real>& turn) {
    while (!f_.fits(turn.x)) lower_to(f_.size() - 1, *turn.row, *turn.random);
  }
  // Reduces to at most `size` examples.
  virtual void lower_to(std::size_t size, Row<Real>& row, Random&) {
    while (f_.size() > size) f_.remove(f_.oldest(), row);
  }

  // Adds the coefs of example i to those of united_[i], which is i for one that stays.
  void unite() {
    for (std::size_t i = 0; i < f_.size(); ++i) {
      if (united_[i] == i) continue;
      f_.report(EventKind::merge, i, f_.id(united_[i]));
      for (std::size_t k = 0; k < f_.outputs(); ++k) {
        f_.stored_coefs(k)[united_[i]] += f_.stored_coefs(k)[i];
      }
    }
    f_.keep(united_, EventKind::none);
  }

  Expansion<Real> f_;
  std::vector<std::uint32_t> united_;

 private:
  // The mean |change of f| at the examples that are still stored.
  [[nodiscard]] double mean_move(const std::vector<double>& before,
                                 const std::vector<double>& after) const {
    double moved = 0.0;
    auto now = after.begin();
    for (std::size_t i = 0; i < before.size() && now != after.end(); ++i) {
      const std::size_t example = i / f_.outputs();
      if (united_.empty() || united_[example] == example) moved += std::abs(*now++ - before[i]);
    }
    return moved / static_cast<double>(std::max<std::size_t>(1, after.size()));
  }
};

}  // namespace budgetron
