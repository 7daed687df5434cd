// A score of how much a row differs from the rows before it: densities of four widths over stored
// examples with masses.
//
//   e_i = gamma ||x_i - x||^2 ;  k_i = exp(-e_i) ;  c is the example nearest to x
//   s_p = -log(sum_i m_i k_i^p / sum_i m_i),  p = 1/4, 2, 16, 128
//   score = max_p s_p mu_1/mu_p,  mu_1 that of the first p
//
// k^p is a Gaussian of 1/sqrt(p) times the width, so that one kernel row serves all widths: from
// twice that of the kernel to an eleventh of it. mu_p is the mean of s_p over the last `memory`
// rows, in which a score counts as at most three means. So a row is scored at the width at which it
// differs most from the others: a wide kernel sees what is far from everything, a narrow one the
// empty middle of a ring (docs/develop/decisions/0074).
//
// Learning row x of weight w, after t rows, n = min(t + 1, memory):
//   m <- (1 - 1/memory) m
//   k_c >= near             m_c += w                       x is not new
//   there is room           x is stored with mass w
//   otherwise               with probability min(1, B/n) the example of the least mass leaves and x
//                           is stored with mass w; if not, m_c += w
// The probability keeps a burst of strange rows from filling the budget: about B examples leave in
// `memory` rows, as in a reservoir of that many rows.
//
// Densities are summed relative to the nearest example: s_p = p e_c - log(sum m_i (k_i/k_c)^p/M),
// so that nothing underflows however far x is.
//
// The decision is the score and the target is ignored. Masses are the coefs of the expansion.
// Contract: the Gaussian kernel. Cost: after the kernel row O(B); nothing is kept beside it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include "learners/learner.hpp"
#include "simd/coef_ops.hpp"

namespace budgetron {

template <class Real>
class Novelty final : public ExpansionLearner<Real> {
 public:
  Novelty(const Spec& spec, std::size_t outputs)
      : ExpansionLearner<Real>(make_kernel(spec.part("kernel")), outputs, spec.count("budget")),
        near_(spec.number("near")),
        memory_(spec.number("memory")) {
    if (f_.kernel().kind != KernelKind::rbf || outputs != 1) {
      throw std::invalid_argument("novelty: needs the Gaussian kernel and one output");
    }
    f_.keep_distances();
  }

  void decide_by(Row<Real>& row, const Sample<Real>&, std::span<double> outputs) const override {
    row.parts.resize(kWidths + 1);
    measure(row, row.parts.data());
    double score = 0.0;
    for (std::size_t j = 0; j < kWidths; ++j) {
      score = std::max(score, row.parts[j] * share(j));
    }
    outputs[0] = score;
  }

  bool learn(const Turn<Real>& turn) override {
    if (f_.size() > 0) count(turn.row->parts.data());
    f_.scale(1.0 - 1.0 / memory_);
    ++rounds_;
    const auto nearest = static_cast<std::size_t>(turn.row->parts[kWidths]);
    const bool fresh = f_.size() == 0 || static_cast<double>(turn.row->values[nearest]) < near_;
    if (!fresh || !(f_.has_room(turn.x) || replaces(turn))) {
      f_.set_coef(nearest, 0, f_.coef(nearest, 0) + turn.weight);
      return true;
    }
    while (!f_.has_room(turn.x)) {
      f_.remove(lightest(), *turn.row);
      ++replacements_;
    }
    const double mass[1] = {turn.weight};
    f_.add(turn, mass);
    ++admissions_;
    return true;
  }

  // The width follows the distances between the stored examples. These are farther apart than rows,
  // so only the change of the distances is used.
  UnitsChanged change_units(const UnitChange& change, double) override {
    const double before = change.finds_gamma ? f_.median_squared_distance() : 0.0;
    f_.convert(change);
    const double after = change.finds_gamma ? f_.median_squared_distance() : 0.0;
    UnitsChanged changed;
    changed.gamma = f_.kernel().gamma;
    if (before > 0.0 && after > 0.0 && usable_gamma<Real>(changed.gamma * (before / after))) {
      changed.gamma *= before / after;
    }
    f_.set_gamma(changed.gamma);
    return changed;
  }

  void reserve_row(Row<Real>& row) const override {
    ExpansionLearner<Real>::reserve_row(row);
    row.parts.reserve(kWidths + 1);
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this));
    visitor.part("expansion", f_);
    visitor.field("rounds", rounds_);
    visitor.field("admissions", admissions_);
    visitor.field("replacements", replacements_);
    visitor.field("counted", counted_);
    if (visitor.mode() == StateVisitor::Mode::count) return;  // part of the object
    std::vector<double> means(means_.begin(), means_.end());
    visitor.field("means", means);
    if (!visitor.loading()) return;
    require(means.size() == kWidths && all_finite(means) && rounds_ >= 0 && counted_ >= 0, "means");
    for (std::size_t j = 0; j < kWidths; ++j) {
      require(means[j] >= 0.0, "means");
      means_[j] = means[j];
    }
    for (std::size_t i = 0; i < f_.size(); ++i) require(f_.coef(i, 0) >= 0.0, "masses");
  }
  void check_invariants() const override {
    f_.check_invariants();
    for (std::size_t i = 0; i < f_.size(); ++i) {
      if (!(f_.coef(i, 0) >= 0.0)) {
        throw std::logic_error("novelty invariant broken: a mass is below 0");
      }
    }
  }

 protected:
  void lower_to(std::size_t size, Row<Real>& row, Random&) override {
    while (f_.size() > size) f_.remove(lightest(), row);
  }

 private:
  using ExpansionLearner<Real>::f_;
  static constexpr std::size_t kWidths = 4;
  static constexpr std::size_t kPiece = 8 * PowerSums::kChains;  // examples computed together
  static constexpr double kMostMeans = 3.0;
  static constexpr double kFar = 1e-12;  // below this, ratios of kernel values are computed again

  // The example of least mass; the oldest if several are equal.
  [[nodiscard]] std::size_t lightest() const {
    return f_.least([this](std::size_t i) { return f_.stored_coefs(0)[i]; });
  }
  // Whether x, which is new, replaces another example.
  bool replaces(const Turn<Real>& turn) {
    const double rows = std::min(static_cast<double>(rounds_), memory_);
    return turn.random->uniform() * rows < static_cast<double>(f_.capacity());
  }
  [[nodiscard]] double share(std::size_t j) const {
    if (j == 0) return 1.0;
    return means_[0] > 0.0 && means_[j] > 0.0 ? means_[0] / means_[j] : 0.0;
  }

  // s_p of a row, and the place of the nearest example; all 0 while nothing is stored.
  void measure(const Row<Real>& row, double* scores) const {
    std::fill_n(scores, kWidths + 1, 0.0);
    const std::size_t n = f_.size();
    if (n == 0) return;
    const std::size_t c = row_functions<Real>().first_least(row.distances.data(), n);
    scores[kWidths] = static_cast<double>(c);
    const double gamma = f_.kernel().gamma;
    const auto closest = static_cast<double>(row.distances[c]);
    const auto largest = static_cast<double>(row.values[c]);
    const double* const masses = f_.stored_coefs(0);
    PowerSums sums;
    if (largest >= kFar) {
      coef_functions<Real>().add_powers(masses, row.values.data(), 1.0 / largest, n, sums);
    } else {
      alignas(64) double ratios[kPiece];
      for (std::size_t first = 0; first < n; first += kPiece) {
        const std::size_t count = std::min(kPiece, n - first);
        for (std::size_t i = 0; i < count; ++i) {
          const double farther = static_cast<double>(row.distances[first + i]) - closest;
          ratios[i] = std::exp(-gamma * farther);
        }
        coef_functions<double>().add_powers(masses + first, ratios, 1.0, count, sums);
      }
    }
    double totals[kWidths + 1];
    for (std::size_t j = 0; j <= kWidths; ++j) {
      const double* const s = sums.parts[j];
      totals[j] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    }
    double power = 0.25;
    for (std::size_t j = 0; j < kWidths; ++j) {
      const double score = power * gamma * closest - std::log(totals[j] / totals[kWidths]);
      scores[j] =
          score < kLargest ? std::max(0.0, score) : kLargest;  // NaN: too far to be measured
      power *= 8.0;
    }
  }

  void count(const double* scores) {
    const double rows = std::min(static_cast<double>(++counted_), memory_);
    for (std::size_t j = 0; j < kWidths; ++j) {
      const double most = means_[j] > 0.0 ? kMostMeans * means_[j] : scores[j];
      means_[j] += (std::min(scores[j], most) - means_[j]) / rows;
    }
  }

  static constexpr double kLargest = 1e100;

  double near_;
  double memory_;
  std::int64_t rounds_ = 0;
  std::int64_t admissions_ = 0;
  std::int64_t replacements_ = 0;
  std::int64_t counted_ = 0;             // rows in the means
  std::array<double, kWidths> means_{};  // mu
};

}  // namespace budgetron
