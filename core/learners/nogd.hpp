// NOGD: online gradient descent on Nystrom features (Lu, Hoi, Wang, Zhao, Liu 2016, algorithm 2).
//
// OGD without decay stores the first B examples with loss. On the next round with loss they become
// landmarks: with K_B = V E V' and the `rank` largest eigenvalues, none below 1e-10 of the largest,
//
//   phi(x) = E^(-1/2) V' k_B(x) ;  w = E^(1/2) V' a ;  from then on  w <- w - step slope phi(x) u
//
// If fewer than half of them differ, copies (k(x_i, x_j) = k(x_i, x_i) = k(x_j, x_j)) are united
// first: the oldest stays and takes over their coefs, which does not change f, and OGD continues
// until the budget is full again. Features made of copies would never separate rows.
//
// f = w.phi(x) is again an expansion, with the coefs a = V E^(-1/2) w. They are updated in every
// round, so that a decision costs O(B K) after the kernel row, as in any expansion.
//
// Cost of a round with loss: O(B) until the budget is full, then O(B rank); O(B^3) once. Memory: B
// rank float64, from the start; 2 B^2 during the change-over.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/linalg.hpp"
#include "hypothesis/capacity.hpp"
#include "hypothesis/loss.hpp"
#include "hypothesis/padded_matrix.hpp"
#include "learners/learner.hpp"

namespace budgetron {

template <class Real>
class Nogd final : public ExpansionLearner<Real> {
 public:
  Nogd(const Spec& spec, std::size_t outputs)
      : ExpansionLearner<Real>(make_kernel(spec.part("kernel")), outputs, spec.count("budget")),
        loss_(spec.part("loss")),
        budget_(spec.count("budget")),
        most_(spec.count("rank")),
        step_(spec.number("step")),
        projection_(0, 0),
        weights_(outputs, 0),
        coefs_(outputs) {
    if (budget_ <= kAtOnce) take_memory();
  }

  bool learn(const Turn<Real>& turn) override {
    const double slope = loss_.slope(turn.margin);
    united_.clear();
    if (slope == 0.0) return false;
    for (std::size_t k = 0; k < coefs_.size(); ++k) coefs_[k] = -step_ * slope * turn.direction[k];
    if (rank_ == 0 && !f_.has_room(turn.x) && !change_over()) f_.row(turn.x, *turn.row);
    if (rank_ == 0) {
      f_.add(turn, coefs_);
      return true;
    }
    f_.report(EventKind::project, turn, coefs_);
    const auto dot = row_functions<Real>().dot;
    for (std::size_t r = 0; r < rank_; ++r) {
      phi_[r] = dot(turn.row->values.data(), projection_.row(r), projection_.stride());
    }
    for (std::size_t k = 0; k < coefs_.size(); ++k) {
      if (coefs_[k] == 0.0) continue;
      for (std::size_t r = 0; r < rank_; ++r) weights_.row(k)[r] += coefs_[k] * phi_[r];
      set_coefs(k);
    }
    return true;
  }

  void scale_targets(double factor) override {
    f_.multiply(factor);
    weights_.multiply(factor);
  }

  void rearrange(const ClassChange& change) override {
    f_.rearrange(change);
    weights_.rearrange(change);
    coefs_.resize(f_.outputs());
  }

  void reserve(const ByteLimit& limit) override {
    f_.reserve(limit);
    take_memory();
    changing_.reserve(budget_);
    united_.reserve(budget_);
    f_.reserve_row(changing_.row);
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this));
    visitor.part("expansion", f_);
    visitor.field("rank", rank_);
    if (visitor.loading()) {
      require(rank_ <= most_ && (rank_ == 0 || f_.stride() >= padded(budget_)), "rank");
      if (rank_ > 0) changing_ = Changing();
    }
    projection_.visit_state(visitor, "projection", rank_, rank_ > 0 ? budget_ : 0);
    weights_.visit_state(visitor, "weights", f_.outputs(), rank_);
    if (visitor.loading()) phi_.resize(std::max(phi_.size(), rank_));
    coefs_.resize(f_.outputs());
    changing_.count(visitor);
    visitor.scratch(phi_);
    visitor.scratch(coefs_);
    visitor.scratch(united_);
  }

 protected:
  // Keeps the coefs as far as the new features can represent them.
  void follow_units(const UnitChange&) override {
    if (rank_ == 0) return;
    rank_ = 0;
    projection_.fill(0.0);
    weights_.fill(0.0);
    change_over();
  }
  // The remaining examples start again as OGD, with their coefs.
  void lower_to(std::size_t size, Row<Real>& row, Random&) override {
    while (f_.size() > size) f_.remove(f_.oldest(), row);
    rank_ = 0;
  }

 private:
  using ExpansionLearner<Real>::f_;
  using ExpansionLearner<Real>::united_;
  // An eigenvalue below this share of the largest is rounding error.
  static constexpr double kFlat = 1e-10;

  // Allocates the memory for the features; for a large budget only when it is full.
  void take_memory() {
    if (projection_.rows() == most_) return;
    projection_ = PaddedMatrix(most_, budget_);
    weights_.widen(most_);
    phi_.resize(most_);
  }

  // Scratch for the change-over; freed afterwards.
  struct Changing {
    std::vector<double> gram;
    std::vector<double> values;
    std::vector<double> vectors;
    lapack::EigenWork work;
    Row<Real> row;

    void reserve(std::size_t n) {
      gram.reserve(n * n);
      values.reserve(n);
      vectors.reserve(n * n);
      work.resize(n);
    }
    void count(StateVisitor& visitor) {
      for (const auto* numbers : {&gram, &values, &vectors, &work.numbers}) {
        visitor.scratch(*numbers);
      }
      visitor.scratch(work.spans);
      visitor.scratch(work.wholes);
      row.visit_state(visitor);
    }
  };

  // Unites copies among the stored examples if fewer than half differ. True if it did.
  // Precondition: gram is theirs.
  bool unite_copies() {
    const std::size_t n = f_.size();
    const std::vector<double>& gram = changing_.gram;
    const auto copies = [&](std::uint32_t i, std::uint32_t j) {
      const double self = gram[j * n + j];
      return gram[i * n + j] == self && gram[i * n + i] == self;
    };
    std::size_t differ = 0;
    united_.resize(n);
    for (std::uint32_t j = 0; j < n; ++j) {
      std::uint32_t i = 0;
      while (i < j && !(united_[i] == i && copies(i, j))) ++i;
      united_[j] = i;
      differ += i == j;
    }
    if (2 * differ >= n) return false;
    this->unite();
    return true;
  }

  // Changes from OGD on the stored examples to OGD on their features. False if copies were united
  // instead: then there is room again.
  bool change_over() {
    const std::size_t n = f_.size();
    take_memory();
    auto& [gram, values, vectors, work, row] = changing_;
    gram.resize(n * n);
    values.resize(n);
    vectors.resize(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      f_.row_of_stored(i, row);
      for (std::size_t j = i; j < n; ++j) gram[i * n + j] = static_cast<double>(row.values[j]);
    }
    if (unite_copies()) return false;
    united_.clear();
    lapack::eigen(n, gram.data(), values.data(), vectors.data(), work);
    const double largest = values[n - 1];
    const std::size_t first = n - std::min(most_, n);
    for (std::size_t r = first; r < n; ++r) {
      if (values[r] / largest < kFlat) continue;
      double* v = vectors.data() + r * n;
      // The sign of an eigenvector is arbitrary: make its largest component positive.
      const double* peak =
          std::max_element(v, v + n, [](double p, double q) { return std::abs(p) < std::abs(q); });
      const double root = std::copysign(std::sqrt(values[r]), *peak);
      for (std::size_t k = 0; k < f_.outputs(); ++k) {
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i) sum += v[i] * f_.coef(i, k);
        weights_.row(k)[rank_] = root * sum;
      }
      for (std::size_t i = 0; i < n; ++i) projection_.row(rank_)[i] = v[i] / root;
      ++rank_;
    }
    for (std::size_t k = 0; k < f_.outputs(); ++k) set_coefs(k);
    changing_ = Changing();
    return true;
  }

  // a_k = V E^(-1/2) w_k
  void set_coefs(std::size_t output) {
    double* a = f_.stored_coefs(output);  // their factor is 1: nothing decays here
    std::fill_n(a, f_.size(), 0.0);
    for (std::size_t r = 0; r < rank_; ++r) {
      const double w = weights_.row(output)[r];
      const double* v = projection_.row(r);
      for (std::size_t i = 0; i < f_.size(); ++i) a[i] += w * v[i];
    }
  }

  Loss loss_;
  std::size_t budget_;
  std::size_t most_;  // most eigenvalues to keep
  double step_;
  std::size_t rank_ = 0;     // eigenvalues kept; 0 while OGD runs
  PaddedMatrix projection_;  // E^(-1/2) V', rank x B
  PaddedMatrix weights_;     // w, outputs x rank
  Changing changing_;
  std::vector<double> phi_;    // phi(x) of this round
  std::vector<double> coefs_;  // coefs of this round
};

}  // namespace budgetron
