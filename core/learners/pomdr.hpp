// POMDR (Li & Liao 2023): optimistic mirror descent that halves its support.
//
// Before it sees y the learner guesses the gradient from the last M rows, whether learned or not:
//
//   v(x) = mean_r y_r k(x_r, x) ;   decision f(x) + lambda v(x) ;   lambda = c U/sqrt(3 + A)
//
// and learns when y times the decision is < 1. A sums the errors of the guesses; c is 1 until the
// first halving and 0.1 after it. The norm is kept within U.
//
//   phase 1, until |S| = first (B0): d = K^-1 k ; delta <= near (or x in the span up to rounding):
//            a += lambda y d,    A += max(0, d'Kd - 2 y sum_i d_i v(x_i))
//   else     add (x, lambda y),  A += max(0, k(x, x) - 2 y v(x))
//   |S| = B (or no slots for the features of x): the older floor(B/2) stay, each other coef goes to
//            its nearest among them (the largest kernel value; the older of equal ones), f gets
//            norm U, A = 0
//
// Cost: M more kernel values per round; M more rows in rounds that project (phase 1); O(B^2) per
// halving, every B/2 updates. Memory: the window, the Gram matrix, in phase 1 the factor of K.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/spec.hpp"
#include "hypothesis/gram_factor.hpp"
#include "learners/learner.hpp"

namespace budgetron {

template <class Real>
class Pomdr final : public ExpansionLearner<Real> {
 public:
  Pomdr(const Spec& spec, std::size_t outputs)
      : ExpansionLearner<Real>(make_kernel(spec.part("kernel")), outputs, spec.count("size")),
        size_(spec.count("size")),
        radius_(spec.number("radius")),
        span_(spec.count("window")),
        first_(spec.count("first")),
        near_(spec.number("near")),
        window_(f_.kernel(), outputs, span_),
        gram_factor_(first_) {
    f_.keep_norm();
    f_.keep_gram();
  }

  // `decide` also reads the window.
  [[nodiscard]] const Expansion<Real>* by_row() const override { return nullptr; }

  // Leaves v(x) in row.features.
  void decide(const Sample<Real>& x, Row<Real>& row, std::span<double> outputs) const override {
    window_.row(x, row);
    row.features.resize(outputs.size());
    window_.decide(row, row.features);
    f_.row(x, row);
    f_.decide(row, outputs);
    const double rows = static_cast<double>(std::max<std::size_t>(1, window_.size()));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      row.features[k] /= rows;
      outputs[k] += rate() * row.features[k];
    }
  }

  // The rows of the window have shares too, given by the guess.
  [[nodiscard]] std::vector<Share<Real>> shares() const override {
    const double guess = rate() / static_cast<double>(std::max<std::size_t>(1, window_.size()));
    return {{&f_, [this](std::size_t i, std::size_t k) { return f_.coef(i, k); }},
            {&window_,
             [this, guess](std::size_t i, std::size_t k) { return guess * window_.coef(i, k); }}};
  }

  // Every row enters the window, so every round changes the model.
  bool learn(const Turn<Real>& turn) override {
    if (turn.margin < 1.0) update(turn);
    keep(turn);
    return true;
  }

  void reserve(const ByteLimit& limit) override {
    f_.reserve(limit);
    window_.reserve(limit);
    gram_factor_.reserve(false);
    f_.reserve_row(side_);
    coefs_.reserve(f_.outputs());
    guess_.reserve(f_.outputs());
    f_.reserve_sample(past_);
  }
  void reserve_row(Row<Real>& row) const override {
    f_.reserve_row(row);
    window_.reserve_row(row);
    row.features.reserve(f_.outputs());
  }

  void rearrange(const ClassChange& change) override {
    f_.rearrange(change);
    window_.rearrange(change);
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this));
    visitor.part("expansion", f_);
    visitor.part("window", window_);
    visitor.field("alignment", alignment_);
    visitor.field("halvings", halvings_);
    visitor.field("projections", projections_);
    visitor.field("additions", additions_);
    visitor.part("projection", gram_factor_);
    if (visitor.loading()) {
      const bool first_phase = f_.size() < first_ && halvings_ == 0;
      require(!first_phase || gram_factor_.size() == f_.size(), "projection");
      require(f_.size() < size_ && alignment_ >= 0.0, "pomdr");
      if (!first_phase) gram_factor_ = GramFactor(first_);
    }
    visitor.part("side", side_);
    visitor.scratch(coefs_);
    visitor.scratch(guess_);
    visitor.scratch(past_.values);
    visitor.scratch(past_.indices);
  }
  void check_invariants() const override {
    f_.check_invariants();
    window_.check_invariants();
    if (gram_factor_.size() > 0) gram_factor_.check_invariants(f_);
  }

  void lower(std::size_t budget, std::size_t slots, Row<Real>& row, Random& random) override {
    ExpansionLearner<Real>::lower(budget, slots, row, random);
    window_.reserve_row(row);
    while (slots > 0 && window_.features() > slots) {
      window_.remove(window_.oldest(), row);
    }
  }

 protected:
  void follow_units(const UnitChange& change) override {
    window_.convert(change);
    window_.set_gamma(f_.kernel().gamma);
    if (gram_factor_.size() > 0) gram_factor_.fill(f_, f_.side_row());
  }
  // One place is free after every round.
  void lower_to(std::size_t size, Row<Real>& row, Random&) override {
    while (f_.size() > 0 && f_.size() >= size) halve(row);
  }

 private:
  using ExpansionLearner<Real>::f_;

  [[nodiscard]] double rate() const {
    return (halvings_ > 0 ? 0.1 : 1.0) * radius_ / std::sqrt(3.0 + alignment_);
  }

  // x enters the window and replaces the oldest row if it is full.
  void keep(const Turn<Real>& turn) {
    while (!window_.fits(turn.x)) window_.remove(window_.oldest(), *turn.row);
    if (window_.has_room(turn.x)) {
      window_.add(turn, turn.direction);
    } else {
      window_.replace(window_.oldest(), turn, turn.direction);
    }
  }

  void update(const Turn<Real>& turn) {
    this->make_room(turn);
    coefs_.resize(turn.direction.size());
    for (std::size_t k = 0; k < coefs_.size(); ++k) coefs_[k] = rate() * turn.direction[k];

    const bool first_phase = f_.size() < first_ && halvings_ == 0;
    if (first_phase) {
      const double distance = gram_factor_.project(turn.row->values.data(), turn.self);
      const bool near = std::sqrt(distance) <= near_ || distance <= kInSpan<Real> * turn.self;
      if (near && f_.size() > 0) {
        guess_projected();
        alignment_ += missed(gram_factor_.reach(), turn, guess_);
        f_.shift(gram_factor_.weights(), gram_factor_.values(), coefs_);
        f_.report(EventKind::project, turn, coefs_);
        ++projections_;
        stay_in_ball();
        return;
      }
    }
    alignment_ += missed(turn.self, turn, turn.row->features);
    f_.add(turn, coefs_);
    ++additions_;
    if (first_phase) gram_factor_.append();
    if (f_.size() == first_) gram_factor_ = GramFactor(first_);  // no longer needed: free it
    stay_in_ball();
    if (f_.size() == size_) halve(*turn.row);
  }

  // ||g||^2 - 2 <g, v> for g = y k(x, .) or its projection; `square` is ||g||^2 for a row of weight
  // 1, `guess` is v there.
  double missed(double square, const Turn<Real>& turn, std::span<const double> guess) const {
    square *= turn.weight * turn.weight;
    return std::max(0.0, square - 2.0 * f_.inner(turn.direction, guess));
  }

  // sum_i d_i v(x_i), row by row of the window.
  void guess_projected() {
    guess_.assign(f_.outputs(), 0.0);
    for (std::size_t r = 0; r < window_.size(); ++r) {
      window_.support().extract(r, past_);
      f_.row(past_.view(), side_);
      double value = 0.0;
      for (std::size_t i = 0; i < f_.size(); ++i) {
        value += gram_factor_.weights()[i] * static_cast<double>(side_.values[i]);
      }
      for (std::size_t k = 0; k < guess_.size(); ++k) guess_[k] += window_.coef(r, k) * value;
    }
    for (double& value : guess_) value /= static_cast<double>(window_.size());
  }

  void stay_in_ball() {
    const double norm = std::sqrt(f_.squared_norm());
    if (norm > radius_) f_.scale(radius_ / norm);
  }

  // Stored examples are ordered by age: they are only appended, and dropped from the end.
  void halve(Row<Real>& row) {
    const std::size_t kept = f_.size() / 2;
    for (std::size_t j = kept; j < f_.size() && kept > 0; ++j) {
      std::size_t nearest = 0;
      for (std::size_t i = 1; i < kept; ++i) {
        if (f_.gram(j, i) > f_.gram(j, nearest)) nearest = i;
      }
      f_.report(EventKind::merge, j, f_.id(nearest));
      for (std::size_t k = 0; k < f_.outputs(); ++k) {
        double* a = f_.stored_coefs(k);
        a[nearest] += a[j];
        a[j] = 0.0;
      }
    }
    const EventKind why = kept > 0 ? EventKind::none : EventKind::evict;
    while (f_.size() > kept) f_.remove(f_.size() - 1, row, why);
    f_.refresh_norm();
    const double norm = std::sqrt(f_.squared_norm());
    if (norm > 0.0) f_.scale(radius_ / norm);
    alignment_ = 0.0;
    ++halvings_;
    if (gram_factor_.size() > 0) gram_factor_ = GramFactor(first_);  // the first phase is over
  }

  std::size_t size_;
  double radius_;           // U
  std::size_t span_;        // M
  std::size_t first_;       // B0
  double near_;             // T^(-1/2)
  Expansion<Real> window_;  // the last M rows, y_r their coefs
  GramFactor gram_factor_;  // phase 1
  double alignment_ = 0.0;  // A
  std::int64_t halvings_ = 0;
  std::int64_t projections_ = 0;
  std::int64_t additions_ = 0;
  Row<Real> side_;             // the kernel row of a row of the window
  OwnedSample<Real> past_;     // and that row
  std::vector<double> coefs_;  // lambda y
  std::vector<double> guess_;  // v of the projection
};

}  // namespace budgetron
