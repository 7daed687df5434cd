// When full, a random stored example leaves, and the others grow to compensate.
//
// Example i leaves with probability p_i and each other j becomes a_j / (1 - p_j), so that f stays
// the same in expectation (Zhao et al. 2012, algorithm 1, eq. (10)); then every |a_j|, also that of
// the new example, is clipped to `clip` (eq. (4)). The new example takes the free place.
//
//   uniform     p_i = 1/B
//   nonuniform  p_i = 1 - (B-1) w_i / sum_j w_j, w_i = |a_i| sqrt(k_ii)     (16), least variance;
//               negative ones become 0 and the rest is normalised; all w_i = 0: uniform
//
// The draw walks p in storage order, first by sums of sixteen. Coefs of a single output that pass
// the clip are set to it without a division; if all are equal, as with the hinge loss at the clip,
// one computation serves all. Cost: O(B K), with the norm kept O(B^2) from a Gram matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "learners/budgets/budget.hpp"

namespace budgetron {

template <class Real>
class Sampled final : public Budget<Real> {
 public:
  explicit Sampled(const Spec& spec)
      : size_(spec.count("size")),
        uniform_(spec.text("sampling") == "uniform"),
        clip_(std::min(spec.number("clip"), std::numeric_limits<double>::max())) {
    if (!uniform_ && spec.text("sampling") != "nonuniform") {
      throw std::invalid_argument("no sampling is called '" + spec.text("sampling") + "'");
    }
  }

  [[nodiscard]] std::size_t capacity() const override { return size_; }
  void prepare(Expansion<Real>& f) const override {
    if (f.keeps_norm()) f.keep_gram();
  }
  void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) override {
    const double allowed = within_clip(std::sqrt(f.inner(coefs, coefs)));
    clipped_.resize(coefs.size());
    for (std::size_t k = 0; k < coefs.size(); ++k) clipped_[k] = coefs[k] * allowed;
    if (f.has_room(turn.x)) {
      f.add(turn, clipped_);
    } else {
      f.replace(draw(f, *turn.random), turn, clipped_);
    }
  }
  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random& random) override {
    while (f.size() > size) {
      f.remove(draw(f, random), row);
    }
  }
  void reserve(const Expansion<Real>& f) override {
    if (f.outputs() > 1) stored_.reserve(size_);
    if (!uniform_) {
      sums_.reserve(blocks(size_));
      if (f.outputs() > 1 || !f.kernel().isotropic()) sizes_.reserve(size_);
      if (!f.kernel().isotropic()) weights_.reserve(size_);
    }
    clipped_.reserve(f.outputs());
  }
  void visit_state(StateVisitor& visitor) override {
    visitor.field("draws", draws_);
    visitor.scratch(weights_);
    visitor.scratch(sums_);
    visitor.scratch(sizes_);
    visitor.scratch(stored_);
    visitor.scratch(clipped_);
  }

 private:
  // The factor that clips a coef of this size.
  [[nodiscard]] double within_clip(double size) const {
    return clip_ / (size > clip_ ? size : clip_);
  }

  // Draws the example that leaves; grows the others.
  std::size_t draw(Expansion<Real>& f, Random& random) {
    ++draws_;
    const std::size_t n = f.size();
    bool even = uniform_;
    Chances chances;
    double total = 0.0;  // sum of the chances
    if (!uniform_) {
      const auto& functions = coef_functions<Real>();
      chances = weights_of(f);
      sums_.resize(blocks(n));
      const double weight = functions.sum_weights(chances, n, sums_.data());
      even = weight == 0.0;
      if (!even) chances.share = static_cast<double>(n - 1) / weight;
      total = functions.sum_chances(chances, n, sums_.data());
    }
    const std::size_t leaver = even ? random.below(n) : walk(chances, n, random.uniform() * total);
    grow_others(f, leaver, chances, total);
    return leaver;
  }

  // The weights w_i; if they are the sizes of coefs, the coefs themselves.
  Chances weights_of(const Expansion<Real>& f) {
    const bool isotropic = f.kernel().isotropic();
    if (isotropic && f.outputs() == 1) {
      const bool alike = coef_functions<Real>().alike(f.stored_coefs(0), f.size());
      return {.weights = f.stored_coefs(0), .factor = f.factor(), .alike = alike};
    }
    f.coef_sizes(sizes_);
    if (isotropic) return {.weights = sizes_.data()};
    weights_.resize(f.size());
    for (std::size_t i = 0; i < f.size(); ++i) {
      weights_[i] = sizes_[i] * std::sqrt(f.stored_self(i));
    }
    return {.weights = weights_.data()};
  }

  // The first example at which the running sum of chances passes `mark`; the last example if, by
  // rounding, none does.
  [[nodiscard]] std::size_t walk(const Chances& chances, std::size_t n, double mark) const {
    // Counted, not searched: no branch predictor could foresee where a search stops.
    std::size_t block = 0;
    for (std::size_t b = 0; b + 1 < sums_.size(); ++b) block += !(mark < sums_[b]);
    double running = block > 0 ? sums_[block - 1] : 0.0;
    std::size_t i = block * kBlock;
    while (i + 1 < n && !(mark < (running += chances[i]))) ++i;
    return i;
  }

  // Grows the coefs, clipped. The example that leaves is skipped: it will be replaced.
  void grow_others(Expansion<Real>& f, std::size_t leaver, const Chances& chances, double total) {
    const double limit = clip_ / std::abs(f.factor());
    if (f.outputs() == 1) {
      double* const a = f.stored_coefs(0);
      const double own = a[leaver];
      if (uniform_) {
        coef_functions<Real>().grow(a, even_growth(f), limit, f.size());
      } else {
        coef_functions<Real>().grow_by_chances(a, f.factor(), chances, total, clip_, limit,
                                               f.size());
      }
      a[leaver] = own;
    } else {
      f.stored_sizes(stored_);
      for (std::size_t j = 0; j < f.size(); ++j) {
        if (j != leaver) grow_vector(f, j, limit, chances, total);
      }
    }
    if (f.keeps_norm()) f.refresh_norm();
  }
  [[nodiscard]] static double even_growth(const Expansion<Real>& f) {
    return 1.0 / (1.0 - 1.0 / static_cast<double>(f.size()));
  }
  // The same for several outputs, with the same operations: two outputs equal one, to the bit.
  void grow_vector(Expansion<Real>& f, std::size_t j, double limit, const Chances& chances,
                   double total) const {
    const double rest = uniform_ ? 1.0 : total - chances[j];
    const double growth = uniform_ ? even_growth(f) : total / rest;
    const bool clipped = uniform_ ? growth * stored_[j] > limit : sizes_[j] * total > clip_ * rest;
    for (std::size_t k = 0; k < f.outputs(); ++k) {
      double& coef = f.stored_coefs(k)[j];
      coef = clipped ? coef / stored_[j] * limit : coef * growth;
    }
  }

  static constexpr std::size_t kBlock = CoefFunctions<Real>::kBlock;
  static std::size_t blocks(std::size_t n) { return (n + kBlock - 1) / kBlock; }

  std::size_t size_;
  bool uniform_;
  double clip_;  // the largest number: no clipping
  std::int64_t draws_ = 0;
  std::vector<double> sums_;     // running sums of chances
  std::vector<double> weights_;  // w_i, if they are not the sizes of coefs
  std::vector<double> sizes_;    // |a_i|, if needed apart from the coefs
  std::vector<double> stored_;   // the same before scale and rate, for several outputs
  std::vector<double> clipped_;  // coefs of the new example
};

}  // namespace budgetron
