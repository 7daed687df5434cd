// Missing values: a NaN in a row is a gap. The running mean of the feature replaces it (units.hpp),
// and gaps are counted here, in total and per feature.
//
// Cost: a scan for NaN, over a whole batch and, if it has one, over each row; O(log features) per
// gap. Memory: 12 bytes per feature that had a gap, nothing if there were no gaps. At most as many
// features are counted one by one as have units, but at least 64; gaps of the others are only in
// the total.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/sample.hpp"
#include "base/state.hpp"
#include "simd/unit_counts.hpp"

namespace budgetron {

// Whether a value is missing. Without branches: the loop is a few vector instructions.
template <class Real>
bool has_gaps(const Sample<Real>& x) {
  bool any = false;
  for (std::size_t k = 0; k < x.count; ++k) any |= x.values[k] != x.values[k];
  return any;
}
// The same for the values of many rows.
template <class Real>
bool any_gaps(const Sample<Real>& rows) {
  return unit_count_functions<Real>().any_nan(rows.values, rows.count);
}

template <class Real>
bool has_infinity(const Sample<Real>& x) {
  return std::any_of(x.values, x.values + x.count, [](Real value) { return std::isinf(value); });
}

class GapCounts {
 public:
  static constexpr std::size_t kLeast = 64;  // features that are counted, whatever it takes

  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] const std::vector<std::int32_t>& features() const { return features_; }
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }

  // Counts the gaps of a row; `most` features are counted one by one.
  template <class Real>
  void count(const Sample<Real>& x, std::size_t most) {
    for (std::size_t k = 0; k < x.count; ++k) {
      if (std::isnan(x.values[k])) count(x.feature(k), most);
    }
  }

  void reserve(std::size_t features) {
    features_.reserve(features);
    counts_.reserve(features);
  }

  void visit_state(StateVisitor& visitor) {
    visitor.field("total", total_);
    visitor.field("features", features_);
    visitor.field("counts", counts_);
    if (!visitor.loading()) return;
    const char* const what = "gaps";
    require(features_.size() == counts_.size(), what);
    require(strictly_increasing(features_.data(), features_.size()), what);
    std::int64_t rest = total_;
    for (const std::int64_t count : counts_) {
      require(count > 0 && count <= rest, what);
      rest -= count;
    }
  }

 private:
  void count(std::int32_t feature, std::size_t most) {
    ++total_;
    const auto place = std::lower_bound(features_.begin(), features_.end(), feature);
    const auto at = place - features_.begin();
    if (place == features_.end() || *place != feature) {
      if (features_.size() >= most) return;
      features_.insert(place, feature);
      counts_.insert(counts_.begin() + at, 0);
    }
    ++counts_[static_cast<std::size_t>(at)];
  }

  std::int64_t total_ = 0;
  std::vector<std::int32_t> features_;  // that had gaps, in their order
  std::vector<std::int64_t> counts_;    // how many, each
};

}  // namespace budgetron
