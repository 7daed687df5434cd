// Halve and project (Liao et al. 2024, algorithm 2, lines 10-12).
//
// When the budget is full: keep the floor(B/2) examples with the largest |a_i| (S2; the older of
// equal ones), project the others (S1) onto them and rescale,
//
//   theta = (K_2 + ridge I)^-1 K_21 a_1        (9)
//   a_2 <- (a_2 + theta) * c / ||...||         (7)   c = ||f|| ("keep") or a given norm
//
// then add the new example. If fewer than half of S2 differ, copies in it (k(x_i, x_j) = k(x_i,
// x_i) = k(x_j, x_j)) are moved to S1, all but the first: their differences do not show in f, and
// would grow without bound when (7) rescales. K comes from the Gram matrix of the expansion. Cost:
// O(B^3 / 24) every B/2 admissions, so O(B^2) amortised; memory B^2/2 Reals for the Gram matrix and
// B^2/4 doubles for the factor.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/linalg.hpp"
#include "learners/budgets/budget.hpp"

namespace budgetron {

template <class Real>
class Halve final : public Budget<Real> {
 public:
  explicit Halve(const Spec& spec)
      : size_(spec.count("size")), ridge_(spec.number("ridge")), norm_(spec.number("norm")) {}

  [[nodiscard]] std::size_t capacity() const override { return size_; }
  void prepare(Expansion<Real>& f) const override {
    f.keep_norm();
    f.keep_gram();
  }
  void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) override {
    if (!f.has_room(turn.x)) shrink(f, *turn.row);
    f.add(turn, coefs);
  }
  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random&) override {
    while (f.size() > size) shrink(f, row);
  }
  void reserve(const Expansion<Real>& f) override {
    const std::size_t kept = size_ / 2;
    order_.reserve(size_);
    sizes_.reserve(size_);
    factor_.reserve(kept * kept);
    theta_.reserve(kept * f.outputs());
  }
  void visit_state(StateVisitor& visitor) override {
    visitor.field("halvings", halvings_);
    visitor.scratch(order_);
    visitor.scratch(sizes_);
    visitor.scratch(factor_);
    visitor.scratch(theta_);
  }

 private:
  void shrink(Expansion<Real>& f, Row<Real>& row) {
    if (f.size() > 1) {
      halve(f, row);
    } else {
      f.remove(0, row);
    }
  }
  void halve(Expansion<Real>& f, Row<Real>& row) {
    const std::size_t n = f.size();
    std::size_t kept = n / 2;
    const std::size_t outputs = f.outputs();
    const double target = norm_ > 0.0 ? norm_ : std::sqrt(f.squared_norm());
    ++halvings_;

    sizes_.resize(n);
    order_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double size = f.coef_size(i);
      sizes_[i] = std::isnan(size) ? 0.0 : size;  // sorting needs an order, whatever was loaded
      order_[i] = i;
    }
    std::sort(order_.begin(), order_.end(), [&](std::size_t i, std::size_t j) {
      return sizes_[i] != sizes_[j] ? sizes_[i] > sizes_[j] : f.id(i) < f.id(j);
    });
    kept = set_copies_apart(f, kept);
    std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(kept));

    factor_.resize(kept * kept);
    theta_.resize(kept * outputs);
    for (std::size_t i = 0; i < kept; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        factor_[j * kept + i] = static_cast<double>(f.gram(order_[i], order_[j]));
      }
      factor_[i * kept + i] += ridge_;
    }
    for (std::size_t k = 0; k < outputs; ++k) {
      const double* a = f.stored_coefs(k);
      for (std::size_t i = 0; i < kept; ++i) {
        double sum = 0.0;
        for (std::size_t j = kept; j < n; ++j) {
          sum += static_cast<double>(f.gram(order_[i], order_[j])) * a[order_[j]];
        }
        theta_[k * kept + i] = sum;
      }
    }
    // Rounding can make a float32 Gram matrix not positive definite: then a_2 stays, which is the
    // projection with an infinite ridge.
    if (lapack::cholesky(kept, factor_.data())) {
      for (std::size_t k = 0; k < outputs; ++k) {
        lapack::cholesky_solve(kept, factor_.data(), theta_.data() + k * kept);
        double* a = f.stored_coefs(k);
        for (std::size_t i = 0; i < kept; ++i) a[order_[i]] += theta_[k * kept + i];
      }
    }
    double norm = 0.0;  // ||a_2 + theta||^2
    for (std::size_t k = 0; k < outputs; ++k) {
      const double* a = f.stored_coefs(k);
      double share = 0.0;  // of output k: summed separately, so that two outputs round like one
      for (std::size_t i = 0; i < kept; ++i) {
        double sum = 0.0;
        for (std::size_t j = 0; j < kept; ++j) {
          sum += static_cast<double>(f.gram(order_[i], order_[j])) * a[order_[j]];
        }
        share += a[order_[i]] * sum;
      }
      norm += share;
    }
    norm = std::max(0.0, (outputs == 1 ? norm : 2.0 * norm) * f.factor() * f.factor());

    for (std::size_t i = kept; i < n; ++i) f.report(EventKind::project, order_[i]);
    // S1 leaves. Its coefs are set to 0 first, so the norm need not be updated.
    for (std::size_t k = 0; k < outputs; ++k) {
      for (std::size_t i = kept; i < n; ++i) f.stored_coefs(k)[order_[i]] = 0.0;
    }
    std::sort(order_.begin() + static_cast<std::ptrdiff_t>(kept), order_.end(), std::greater<>());
    for (std::size_t i = kept; i < n; ++i) f.remove(order_[i], row, EventKind::none);
    f.set_squared_norm(norm);
    if (norm > 0.0) f.scale(target / std::sqrt(norm));
  }

  // How many of the first `kept` stay: all, or the distinct ones, which then come first.
  std::size_t set_copies_apart(const Expansion<Real>& f, std::size_t kept) {
    const auto copies = [&](std::size_t i, std::size_t j) {
      return f.gram(i, j) == f.gram(i, i) && f.gram(i, j) == f.gram(j, j);
    };
    std::size_t differ = 0;
    for (std::size_t j = 0; j < kept; ++j) {
      std::size_t i = 0;
      while (i < differ && !copies(order_[i], order_[j])) ++i;
      if (i < differ) continue;
      // Moves it to the front; those between keep their order.
      const auto at = order_.begin() + static_cast<std::ptrdiff_t>(j);
      std::rotate(order_.begin() + static_cast<std::ptrdiff_t>(differ), at, at + 1);
      ++differ;
    }
    if (2 * differ < kept) return differ;
    return kept;
  }

  std::size_t size_;
  double ridge_;
  double norm_;  // the norm to rescale to, 0 for "keep"
  std::int64_t halvings_ = 0;
  std::vector<std::size_t> order_;  // S2 first, then S1
  std::vector<double> sizes_;       // |a_i|
  std::vector<double> factor_;      // kept x kept, column-major lower
  std::vector<double> theta_;       // kept x outputs
};

}  // namespace budgetron
