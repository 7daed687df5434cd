// Running standard deviations of every feature, and rows divided by them.
//
//   x_j <- x_j / s_j ,   s_j^2 = (1/t) sum_{i <= t} (x_ij - m_j)^2   over the t rows counted so far
//
// Rows are not centred: a shift changes no distance, and a sparse row stays sparse. A feature
// without variance so far maps to 0. Absent features and zeros are not visited. The scaler keeps
// the number n, mean m and squares q = sum (x - m)^2 of the values other than 0, by Welford's
// recursion (1962), which does not cancel for large offsets such as Unix times. It adds the t - n
// zeros by the formula for two groups (Chan, Golub & LeVeque 1983, eq. 2.1b), the second of mean 0:
//
//   t s^2 = q + m^2 n (t - n) / t
//
// Frozen (scale = "auto" of model files before format 4): saved deviations stay fixed. A feature
// that had none is divided by its running root mean square if that is above 1:
//
//   x_j <- x_j / max(1, sqrt((q + n m^2) / t))
//
// so that a rare flag of a one-hot code stays a flag, and neither a large constant nor a sensor
// that starts late dominates the rest.
//
// Everything is float64. A zero that is stored and a zero that is left out mean the same in every
// line here, so dense and sparse rows give the same bits, and a constant feature has q = 0 exactly.
//
// Cost: O(non-zeros of x) to count and to transform. Memory: 28 bytes per feature seen, 8 more when
// frozen, and its slot.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/feature_table.hpp"
#include "base/sample.hpp"
#include "base/state.hpp"

namespace budgetron {

class Scaler {
 public:
  // x divided by the deviations of the rows counted so far, or by the frozen ones. The result
  // points into `out`.
  template <class Real>
  Sample<Real> transform(const Sample<Real>& x, OwnedSample<Real>& out) const {
    out.dense = x.dense();
    out.values.clear();
    out.indices.clear();
    for (std::size_t k = 0; k < x.count; ++k) {
      const Real value = scaled(x.feature(k), x.values[k]);
      if (out.dense) {
        out.values.push_back(value);
      } else if (value != Real(0)) {
        out.values.push_back(value);
        out.indices.push_back(x.indices[k]);
      }
    }
    return out.view();
  }

  template <class Real>
  void count(const Sample<Real>& x) {
    ++rows_;
    for (std::size_t k = 0; k < x.count; ++k) {
      if (x.values[k] == Real(0)) continue;
      const std::size_t slot = slot_of(x.feature(k));
      if (frozen(slot) > 0.0) continue;
      const double value = countable(x.values[k]);
      const double before = value - means_[slot];
      means_[slot] += before / static_cast<double>(++counts_[slot]);
      squares_[slot] += before * (value - means_[slot]);
    }
  }

  // The current divisor of a value; infinite if it maps to 0.
  [[nodiscard]] double size(std::int32_t feature) const {
    const std::uint32_t slot = slots_.find(feature);
    const double s = slot == kNoSlot ? (deviations_.empty() ? 0.0 : 1.0) : divisor(slot);
    return s > 0.0 ? s : std::numeric_limits<double>::infinity();
  }
  // The mean of a feature over the rows counted so far; NaN for frozen features, which are not
  // counted.
  [[nodiscard]] double mean(std::int32_t feature) const {
    const std::uint32_t slot = slots_.find(feature);
    if (slot == kNoSlot) return 0.0;
    if (frozen(slot) > 0.0) return std::numeric_limits<double>::quiet_NaN();
    return means_[slot] * static_cast<double>(counts_[slot]) / static_cast<double>(rows_);
  }

  // Allocates the memory for rows of this width.
  void reserve(std::size_t width) {
    slots_.reserve(width, width);
    features_.reserve(width);
    counts_.reserve(width);
    means_.reserve(width);
    squares_.reserve(width);
  }

  void visit_state(StateVisitor& visitor) {
    visitor.object(slots_.bytes());
    visitor.field("rows", rows_);
    visitor.field("features", features_);
    visitor.field("counts", counts_);
    visitor.field("means", means_);
    visitor.field("squares", squares_);
    visitor.field("deviations", deviations_);
    if (visitor.mode() != StateVisitor::Mode::load) return;
    const std::size_t size = features_.size();
    require(counts_.size() == size && means_.size() == size && squares_.size() == size &&
                deviations_.size() <= size && all_finite(deviations_),
            "scaler");
    for (const double deviation : deviations_) require(deviation >= 0.0, "scaler");
    slots_.clear();
    for (std::size_t slot = 0; slot < size; ++slot) {
      require(features_[slot] >= 0 && slots_.find(features_[slot]) == kNoSlot &&
                  counts_[slot] >= 1 && counts_[slot] <= rows_ && !std::isnan(means_[slot]) &&
                  squares_[slot] >= 0.0,
              "scaler");
      slots_.insert(features_[slot], static_cast<std::uint32_t>(slot));
    }
  }

 private:
  // The largest value of a scaled row: its squares can be summed over 2^28 features in float32.
  // Only a feature that jumps by that many of its deviations reaches it.
  static constexpr double kLargest = 1e15;
  // Larger values count as this one: beyond it, sums of squares overflow.
  static constexpr double kCountable = 1e140;

  template <class Real>
  [[nodiscard]] static double countable(Real value) {
    return std::clamp(static_cast<double>(value), -kCountable, kCountable);
  }

  template <class Real>
  [[nodiscard]] Real scaled(std::int32_t feature, Real value) const {
    if (value == Real(0)) return Real(0);
    const double s = size(feature);
    if (std::isinf(s)) return Real(0);
    return static_cast<Real>(std::clamp(countable(value) / s, -kLargest, kLargest));
  }

  // The frozen deviation; 0 if nothing is frozen, or the feature had none.
  [[nodiscard]] double frozen(std::size_t slot) const {
    return slot < deviations_.size() ? deviations_[slot] : 0.0;
  }

  [[nodiscard]] double divisor(std::size_t slot) const {
    if (deviations_.empty()) return deviation(slot);
    const double s = frozen(slot);
    return s > 0.0 ? s : std::max(root_mean_square(slot), 1.0);
  }

  // The deviation over the rows counted so far.
  [[nodiscard]] double deviation(std::size_t slot) const {
    double squares = squares_[slot];
    if (counts_[slot] < rows_) {
      const double share = static_cast<double>(rows_ - counts_[slot]) / static_cast<double>(rows_);
      squares += means_[slot] * means_[slot] * static_cast<double>(counts_[slot]) * share;
    }
    return std::sqrt(squares / static_cast<double>(rows_));
  }

  [[nodiscard]] double root_mean_square(std::size_t slot) const {
    const double sum = means_[slot] * means_[slot] * static_cast<double>(counts_[slot]);
    return std::sqrt((squares_[slot] + sum) / static_cast<double>(rows_));
  }

  std::size_t slot_of(std::int32_t feature) {
    const std::uint32_t found = slots_.find(feature);
    if (found != kNoSlot) return found;
    slots_.insert(feature, static_cast<std::uint32_t>(features_.size()));
    features_.push_back(feature);
    counts_.push_back(0);
    means_.push_back(0.0);
    squares_.push_back(0.0);
    return features_.size() - 1;
  }

  std::int64_t rows_ = 0;
  FeatureTable slots_;
  std::vector<std::int32_t> features_;  // per slot, in the order of first appearance
  std::vector<std::int64_t> counts_;    // n
  std::vector<double> means_;           // m
  std::vector<double> squares_;         // q
  std::vector<double> deviations_;      // frozen, per slot known then; otherwise empty
};

}  // namespace budgetron
