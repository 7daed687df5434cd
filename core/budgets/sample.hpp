// Full: a stored example drawn at random leaves, and those that stay grow to make up for it.
//
// Example i leaves with probability p_i and each other j becomes a_j / (1 - p_j), so that in
// expectation f is what it was (bogd.txt, algorithm 1, eq. (10)); then no |a_j|, nor the
// newcomer's, may pass `clip` (eq. (4)). The newcomer takes the place of the one that left.
//
//   uniform     p_i = 1/B
//   nonuniform  p_i = 1 - (B-1) w_i / sum_j w_j, w_i = |a_i| sqrt(k_ii)     (16), least variance;
//               negative ones count as 0 and the rest is renormalised; all w_i = 0: uniform
//
// The draw walks p in storage order, first by sums of sixteen. Coefs of a single output that
// pass the clip become the clip, without a division. Cost: O(B K), with the norm kept O(B^2) from a
// Gram matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "budget.hpp"

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
    while (!f.has_room(turn.x)) {
      const std::size_t leaver = draw(f, *turn.random);
      grow_others(f, leaver);
      ++draws_;
      if (f.fits_instead(leaver, turn.x)) {
        f.replace(leaver, turn, clipped_);
        return;
      }
      f.remove(leaver, *turn.row);
    }
    f.add(turn, clipped_);
  }
  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random& random) override {
    while (f.size() > size) {
      const std::size_t leaver = draw(f, random);
      if (f.size() > 1) grow_others(f, leaver);
      f.remove(leaver, row);
      ++draws_;
    }
  }
  void reserve(const Expansion<Real>& f) override {
    for (auto* numbers : {&p_, &sums_, &sizes_, &stored_}) numbers->reserve(size_);
    clipped_.reserve(f.outputs());
  }
  void visit_state(StateVisitor& visitor) override {
    visitor.field("draws", draws_);
    visitor.scratch(p_);
    visitor.scratch(sums_);
    visitor.scratch(sizes_);
    visitor.scratch(stored_);
    visitor.scratch(clipped_);
  }

 private:
  // What a coef of this size is to be multiplied by.
  [[nodiscard]] double within_clip(double size) const {
    return clip_ / (size > clip_ ? size : clip_);
  }

  // As expected, but no further than the clip; coefs that pass it are put there. The leaver is left
  // alone: it is replaced.
  void grow_others(Expansion<Real>& f, std::size_t leaver) {
    const double limit = clip_ / std::abs(f.factor());
    if (f.outputs() == 1) {
      double* const a = f.stored_coefs(0);
      const double own = a[leaver];
      if (uniform_) {
        coef_functions<Real>().grow(a, even_growth(f), limit, f.size());
      } else {
        coef_functions<Real>().grow_by_chances(a, sizes_.data(), p_.data(), total_, clip_, limit,
                                               f.size());
      }
      a[leaver] = own;
    } else {
      f.stored_sizes(stored_);
      for (std::size_t j = 0; j < f.size(); ++j) {
        if (j != leaver) grow_vector(f, j, limit);
      }
    }
    if (f.keeps_norm()) f.refresh_norm();
  }
  [[nodiscard]] static double even_growth(const Expansion<Real>& f) {
    return 1.0 / (1.0 - 1.0 / static_cast<double>(f.size()));
  }
  // The same of several outputs, by the same operations: two of them are one, to the bit.
  void grow_vector(Expansion<Real>& f, std::size_t j, double limit) const {
    const double rest = uniform_ ? 1.0 : total_ - p_[j];
    const double growth = uniform_ ? even_growth(f) : total_ / rest;
    const bool clipped = uniform_ ? growth * stored_[j] > limit : sizes_[j] * total_ > clip_ * rest;
    for (std::size_t k = 0; k < f.outputs(); ++k) {
      double& coef = f.stored_coefs(k)[j];
      coef = clipped ? coef / stored_[j] * limit : coef * growth;
    }
  }

  // Draws an example; if not uniformly, fills sizes_, p_ and total_ and draws from them.
  std::size_t draw(const Expansion<Real>& f, Random& random) {
    const std::size_t n = f.size();
    if (uniform_) return random.below(n);
    f.coef_sizes(sizes_);
    p_.resize(n);
    sums_.resize((n + kBlock - 1) / kBlock);
    const bool isotropic = f.kernel().isotropic();
    if (!isotropic) {
      for (std::size_t i = 0; i < n; ++i) p_[i] = sizes_[i] * std::sqrt(f.stored_self(i));
    }
    const double* const weights = isotropic ? sizes_.data() : p_.data();
    total_ = coef_functions<Real>().sum(weights, n, sums_.data());
    if (total_ == 0.0) {
      std::fill(p_.begin(), p_.end(), 1.0);
      total_ = static_cast<double>(n);
      return random.below(n);
    }
    const double share = static_cast<double>(n - 1) / total_;
    total_ = coef_functions<Real>().chances(weights, share, n, p_.data(), sums_.data());
    return walk(random.uniform() * total_);
  }

  // The first example at which the running sum of p_ passes `mark`.
  [[nodiscard]] std::size_t walk(double mark) const {
    double running = 0.0;
    std::size_t block = 0;
    while (block + 1 < sums_.size() && !(mark < running + sums_[block])) running += sums_[block++];
    std::size_t i = block * kBlock;
    running += p_[i];
    while (i + 1 < p_.size() && !(mark < running)) running += p_[++i];
    return i;
  }

  static constexpr std::size_t kBlock = CoefFunctions<Real>::kBlock;

  std::size_t size_;
  bool uniform_;
  double clip_;  // the largest number there is: no clipping
  std::int64_t draws_ = 0;
  std::vector<double> p_;     // chances, up to total_
  std::vector<double> sums_;  // of kBlock of them
  double total_ = 0.0;
  std::vector<double> sizes_;    // |a_i|
  std::vector<double> stored_;   // the same before scale and rate, of several outputs
  std::vector<double> clipped_;  // the newcomer's coefs
};

}  // namespace budgetron
