// Budgets that project onto the span of the stored examples, with the factor of gram_factor.hpp.
//
// Project (Projectron: Orabona, Keshet & Caputo 2008, 2009): the new example is projected instead
// of stored, a_i += c d_i with d = K^-1 k, when it is near the span (delta <= threshold), when the
// budget is full, or when it is in the span up to rounding.
//
// ProjectSmallest (BSGD: Wang, Crammer & Vucetic 2012): over budget, the lightest example m leaves
// and is projected onto the others, a_S += a_m (K_S + jitter I)^-1 k_S(x_m). The jitter is 1e-10 of
// the mean k_ii (float32 rows: 1e-4), within a factor of 2: a factor that is updated incrementally
// has one fixed jitter, so K_S is factorised again when the mean has moved further.
//
// Cost: O(B^2) per admission; ProjectSmallest needs one more kernel row, and O(B^3) at the first
// admission over budget. Memory B^2/2 doubles.
#pragma once

#include <cmath>
#include <vector>

#include "hypothesis/gram_factor.hpp"
#include "learners/budgets/budget.hpp"
#include "learners/budgets/lightest.hpp"

namespace budgetron {

template <class Real>
class Project final : public Budget<Real> {
 public:
  explicit Project(const Spec& spec)
      : size_(spec.count("size")), threshold_(spec.number("threshold")), gram_factor_(size_) {}

  [[nodiscard]] std::size_t capacity() const override { return size_; }
  [[nodiscard]] bool drops() const override { return false; }

  void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) override {
    const double distance = gram_factor_.project(turn.row->values.data(), turn.self);
    const bool full = !f.has_room(turn.x);
    const bool near = std::sqrt(distance) <= threshold_;
    if (f.size() > 0 && (full || near || distance <= kInSpan<Real> * turn.self)) {
      f.shift(gram_factor_.weights(), gram_factor_.values(), coefs);
      f.report(EventKind::project, turn, coefs);
      ++projections_;
    } else {
      f.add(turn, coefs);
      gram_factor_.append();
      ++additions_;
    }
  }

  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random&) override {
    while (f.size() > size) {
      const std::size_t i = f.oldest();
      f.remove(i, row);
      gram_factor_.remove(i);
    }
  }
  void reserve(const Expansion<Real>&) override { gram_factor_.reserve(false); }

  void follow_units(const Expansion<Real>& f) override { gram_factor_.fill(f, f.side_row()); }

  // For rules that need the distance of x from the span first.
  [[nodiscard]] GramFactor& gram_factor() { return gram_factor_; }

  void visit_state(StateVisitor& visitor) override {
    visitor.field("projections", projections_);
    visitor.field("additions", additions_);
    visitor.part("projection", gram_factor_);
  }
  void check_loaded(const Expansion<Real>& f) const override {
    require(gram_factor_.size() == f.size(), "projection");
  }
  void check_invariants(const Expansion<Real>& f) const override {
    gram_factor_.check_invariants(f);
  }

 private:
  std::size_t size_;  // 0: no limit
  double threshold_;  // below 0: none
  GramFactor gram_factor_;
  std::int64_t projections_ = 0;
  std::int64_t additions_ = 0;
};

template <class Real>
class ProjectSmallest final : public Budget<Real> {
 public:
  explicit ProjectSmallest(const Spec& spec) : size_(spec.count("size")), gram_factor_(size_) {}

  [[nodiscard]] std::size_t capacity() const override { return size_; }

  void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) override {
    if (f.has_room(turn.x)) {
      f.add(turn, coefs);
      return;
    }
    refresh(f);
    ++projections_;
    const std::size_t m = lightest(f, turn, coefs, weights_);
    if (m == f.size()) {
      gram_factor_.project(turn.row->values.data(), turn.self);
      f.shift(gram_factor_.weights(), gram_factor_.values(), coefs);
      f.report(EventKind::project, turn, coefs);
      return;
    }
    const double self = f.stored_self(m);
    const Real joint = turn.row->values[m];  // k(x_m, x)
    take_out(f, m, *turn.row);
    enter(f, turn, coefs, m, joint, self);
  }
  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random&) override {
    while (f.size() > size) {
      refresh(f);
      const std::size_t m = lightest(f);
      const double self = f.stored_self(m);
      take_out(f, m, row);
      spread(f, m, self);
    }
  }
  // The next admission over budget recomputes the factor.
  void follow_units(const Expansion<Real>&) override { gram_factor_.clear(0.0); }
  void reserve(const Expansion<Real>& f) override {
    gram_factor_.reserve(true);
    weights_.reserve(size_);
    leaving_.reserve(f.outputs());
    f.reserve_row(side_);
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.field("projections", projections_);
    visitor.part("projection", gram_factor_);
    weights_.visit_state(visitor);
    visitor.scratch(leaving_);
    visitor.part("side", side_);
  }
  void check_invariants(const Expansion<Real>& f) const override {
    if (gram_factor_.size() == f.size() && f.size() > 0) gram_factor_.check_invariants(f);
  }

 private:
  // Removes m; its coefs are then in leaving_, and its kernel row in side_.
  void take_out(Expansion<Real>& f, std::size_t m, Row<Real>& row) {
    leaving_.resize(f.outputs());
    for (std::size_t k = 0; k < leaving_.size(); ++k) leaving_[k] = f.coef(m, k);
    f.row_of_stored(m, side_);
    f.remove(m, row, EventKind::project);
    gram_factor_.remove(m);
  }

  // Projects m, which was removed, onto the others.
  void spread(Expansion<Real>& f, std::size_t m, double self) {
    if (f.size() == 0) return;
    side_.values[m] = side_.values[f.size()];  // of the example that moved to m
    gram_factor_.project(side_.values.data(), self);
    f.shift(gram_factor_.weights(), gram_factor_.values(), leaving_);
  }

  // x takes the index of m, which was removed, and m is projected onto all stored examples.
  void enter(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs,
             std::size_t m, Real joint, double self) {
    gram_factor_.measure(turn.row->values.data(), turn.self);
    gram_factor_.append();
    f.add(turn, coefs);

    // The index that moved to m; now that of the new example.
    const std::size_t last = f.size() - 1;
    side_.values[m] = side_.values[last];
    side_.values[last] = joint;
    gram_factor_.project(side_.values.data(), self);
    f.shift(gram_factor_.weights(), gram_factor_.values(), leaving_);
  }

  // Computes the factor if there is none yet or its jitter no longer fits.
  void refresh(const Expansion<Real>& f) {
    double wanted = 0.0;
    for (std::size_t i = 0; i < f.size(); ++i) wanted += f.stored_self(i);
    wanted *= kInSpan<Real> / static_cast<double>(f.size());
    const double ratio = gram_factor_.jitter() / wanted;
    if (gram_factor_.size() == f.size() && ratio > 0.5 && ratio < 2.0) return;
    gram_factor_.fill(f, side_);
  }

  std::size_t size_;
  GramFactor gram_factor_;
  std::int64_t projections_ = 0;
  Weights weights_;
  std::vector<double> leaving_;  // a_m
  Row<Real> side_;               // the row of x_m
};

}  // namespace budgetron
