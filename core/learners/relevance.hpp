// How much f depends on each feature, for a learned metric (model/metric.hpp).
//
//   G_j = mean over rows of (df/dx_j)^2,  v_j = variance of x_j over the same rows
//   relevance of feature j = sqrt(G_j v_j / mean_j G_j v_j)
//
// This is the root of the diagonal of the average gradient outer product (Radhakrishnan,
// Beaglehole, Pandit & Belkin 2024), computed online. It does not depend on the units of x. A
// feature that does not vary has relevance 1; no relevance is below kLeast.
//
// Rows are counted between the rounds kFirst 2^n at which the metric may change, about 400 each
// time: one in `every`, chosen by the row's number alone.
//
// Cost: O(B d) per counted row, so O(B d) per 2^n/200 rows. Memory: 4 numbers per feature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sample.hpp"
#include "base/state.hpp"

namespace budgetron {

class Relevance {
 public:
  static constexpr std::int64_t kFirst = 400;  // the round of the first change
  static constexpr std::size_t kFeatures = 1024;

  // Whether the metric may change after this many rounds.
  [[nodiscard]] static bool due(std::int64_t rounds) {
    const std::int64_t times = rounds / kFirst;
    return times > 0 && rounds % kFirst == 0 && (times & (times - 1)) == 0;
  }
  // Whether the row of this round is counted.
  [[nodiscard]] static bool counts(std::int64_t round) {
    std::int64_t every = 4;
    while (every * 2 * kFirst <= round) every *= 2;
    const std::uint64_t hash = static_cast<std::uint64_t>(round / every) * 0x9E3779B97F4A7C15u;
    return round % every == static_cast<std::int64_t>(hash >> 32) % every;
  }

  // Counts the gradient of f at x; all feature numbers are below kFeatures.
  template <class Real>
  void count(const Sample<Real>& x, std::span<const double> gradient) {
    if (gradient.size() > squares_.size()) {
      squares_.resize(gradient.size(), 0.0);
      sums_.resize(gradient.size(), 0.0);
      moments_.resize(gradient.size(), 0.0);
    }
    ++rows_;
    for (std::size_t j = 0; j < gradient.size(); ++j) squares_[j] += gradient[j] * gradient[j];
    for (std::size_t k = 0; k < x.count; ++k) {
      const auto value = static_cast<double>(x.values[k]);
      const auto j = static_cast<std::size_t>(x.feature(k));
      if (value == 0.0 || j >= sums_.size()) continue;
      sums_[j] += value;
      moments_[j] += value * value;
    }
  }

  // One number per feature; empty if nothing is known.
  [[nodiscard]] std::vector<double> find() const {
    if (rows_ < kFewest) return {};
    const auto rows = static_cast<double>(rows_);
    std::vector<double> found(squares_.size());
    double sum = 0.0;
    std::size_t varying = 0;
    for (std::size_t j = 0; j < found.size(); ++j) {
      const double mean = sums_[j] / rows;
      const double variance = moments_[j] / rows - mean * mean;
      found[j] = variance > 0.0 ? squares_[j] * variance : -1.0;
      if (!(variance > 0.0)) continue;
      sum += found[j];
      ++varying;
    }
    if (!(sum > 0.0) || !std::isfinite(sum)) return {};
    for (double& each : found) {
      each = each < 0.0 ? 1.0 : std::sqrt(each / sum * static_cast<double>(varying));
      each = std::max(each, kLeast);
    }
    return found;
  }
  void restart() {
    rows_ = 0;
    std::fill(squares_.begin(), squares_.end(), 0.0);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(moments_.begin(), moments_.end(), 0.0);
  }
  void free() {
    rows_ = 0;
    for (auto* each : {&squares_, &sums_, &moments_}) std::vector<double>().swap(*each);
  }

  void visit_state(StateVisitor& visitor) {
    visitor.field("gradient_rows", rows_);
    visitor.field("gradient_squares", squares_);
    visitor.field("value_sums", sums_);
    visitor.field("value_squares", moments_);
    if (!visitor.loading()) return;
    require(squares_.size() <= kFeatures && sums_.size() == squares_.size() &&
                moments_.size() == squares_.size() && all_finite(squares_) && all_finite(sums_) &&
                all_finite(moments_),
            "relevance");
  }

 private:
  static constexpr std::int64_t kFewest = 50;
  static constexpr double kLeast = 0.01;

  std::int64_t rows_ = 0;
  std::vector<double> squares_;  // sum of (df/dx_j)^2
  std::vector<double> sums_;     // of x_j
  std::vector<double> moments_;  // of x_j^2
};

}  // namespace budgetron
