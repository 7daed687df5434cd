// A learned metric: coordinates of features on which f depends are stretched, others are shrunk,
// before the learner sees a row (docs/develop/decisions/0054).
//
//   z'_j = sqrt(rho_j) z_j      z: the row in units (units.hpp);  rho_j: learners/relevance.hpp
//
// so that the Gaussian kernel is exp(-gamma sum_j rho_j (z_j - s_ij)^2). For the learner a change
// of the metric is a change of units; it keeps its values at the stored examples. A race decides
// whether to make the change (race.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sample.hpp"
#include "base/state.hpp"
#include "hypothesis/unit_change.hpp"
#include "learners/relevance.hpp"

namespace budgetron {

class Metric {
 public:
  [[nodiscard]] bool on() const { return !relevance_.empty(); }
  // rho by feature number; 1 beyond the end.
  [[nodiscard]] const std::vector<double>& relevance() const { return relevance_; }
  [[nodiscard]] double factor(std::int32_t feature) const {
    const auto j = static_cast<std::size_t>(feature);
    return j < factors_.size() ? factors_[j] : 1.0;
  }
  [[nodiscard]] double mean_relevance() const {
    if (relevance_.empty()) return 1.0;
    double sum = 0.0;
    for (const double each : relevance_) sum += each;
    return sum / static_cast<double>(relevance_.size());
  }
  // How often it has changed.
  [[nodiscard]] std::int64_t changes() const { return changes_; }
  // Whether another metric differs from it by kApart in any feature.
  [[nodiscard]] bool differs(const Metric& other) const {
    const std::size_t count = std::max(factors_.size(), other.factors_.size());
    for (std::size_t j = 0; j < count; ++j) {
      const auto feature = static_cast<std::int32_t>(j);
      const double ratio = factor(feature) / other.factor(feature);
      if (ratio > kApart || ratio * kApart < 1.0) return true;
    }
    return false;
  }
  void set(const std::vector<double>& relevance, std::int64_t changes) {
    relevance_ = relevance;
    changes_ = changes;
    factors_.resize(relevance.size());
    for (std::size_t j = 0; j < factors_.size(); ++j) factors_[j] = std::sqrt(relevance[j]);
  }

  // Applies the metric to a row in units, which may point into `out`.
  template <class Real>
  Sample<Real> apply(const Sample<Real>& z, OwnedSample<Real>& out) const {
    if (z.values != out.values.data()) {
      out.dense = z.dense();
      out.values.assign(z.values, z.values + z.count);
      out.indices.clear();
      if (!z.dense()) out.indices.assign(z.indices, z.indices + z.count);
    }
    for (std::size_t k = 0; k < out.values.size(); ++k) {
      const std::int32_t feature = out.dense ? static_cast<std::int32_t>(k) : out.indices[k];
      out.values[k] = stretched(feature, out.values[k]);
    }
    return out.view();
  }
  // The same for a dense row, in place.
  template <class Real>
  void apply(Real* values, std::size_t count) const {
    for (std::size_t j = 0; j < std::min(count, factors_.size()); ++j) {
      values[j] = stretched(static_cast<std::int32_t>(j), values[j]);
    }
  }

  void visit_state(StateVisitor& visitor) {
    visitor.field("relevance", relevance_);
    visitor.field("changes", changes_);
    visitor.scratch(factors_);
    if (!visitor.loading()) return;
    require(relevance_.size() <= Relevance::kFeatures, "metric");
    for (const double each : relevance_) require(each > 0.0 && std::isfinite(each), "metric");
    set(std::vector<double>(relevance_), changes_);
  }

 private:
  static constexpr double kApart = 1.25;

  template <class Real>
  [[nodiscard]] Real stretched(std::int32_t feature, Real z) const {
    return static_cast<Real>(factor(feature) * static_cast<double>(z));
  }

  std::int64_t changes_ = 0;
  std::vector<double> relevance_;
  std::vector<double> factors_;  // their roots
};

// A change from one metric to another, in the same units.
class MetricChange final : public UnitChange {
 public:
  MetricChange(const Metric& from, const Metric& to) : from_(from), to_(to) {
    converts = finds_gamma = keeps_values = true;
  }
  [[nodiscard]] double convert(std::int32_t feature, double z, bool /*older*/) const override {
    return z * (to_.factor(feature) / from_.factor(feature));
  }
  [[nodiscard]] UnitStep step(std::int32_t feature) const override {
    return {from_.factor(feature) / to_.factor(feature), 0.0};
  }
  [[nodiscard]] std::span<const std::int32_t> moved_zeros() const override { return {}; }
  using UnitChange::convert;

 private:
  const Metric& from_;
  const Metric& to_;
};

// A change of units of rows in a metric.
class MeasuredChange final : public UnitChange {
 public:
  MeasuredChange(const UnitChange& units, const Metric& metric)
      : UnitChange(units), units_(units), metric_(metric) {
    least_squared *= metric.mean_relevance();  // as if all features varied alike
  }
  [[nodiscard]] double convert(std::int32_t feature, double z, bool older) const override {
    const double factor = metric_.factor(feature);
    return factor * units_.convert(feature, z / factor, older);
  }
  [[nodiscard]] UnitStep step(std::int32_t feature) const override {
    const UnitStep step = units_.step(feature);
    return {step.ratio, metric_.factor(feature) * step.shift};
  }
  [[nodiscard]] std::span<const std::int32_t> moved_zeros() const override {
    return units_.moved_zeros();
  }
  using UnitChange::convert;

 private:
  const UnitChange& units_;
  const Metric& metric_;
};

}  // namespace budgetron
