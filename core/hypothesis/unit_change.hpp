// A change of units as learners see it: how the coordinates of stored examples change.
//
// model/units.hpp decides when units change and to which values. Learners that store examples
// convert them (`convert`), find their kernel width again and recompute what depends on kernel
// values; coefs stay (docs/develop/decisions/0037). Weights of features change too (`step`).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sample.hpp"

namespace budgetron {

// The old coordinate of a feature from the new one: z_old = ratio z_new + shift.
struct UnitStep {
  double ratio = 1.0;
  double shift = 0.0;
};

class UnitChange {
 public:
  // Whether coordinates change.
  bool converts = false;
  // Whether gamma must be found again.
  bool finds_gamma = false;
  // The diameter of AVM's cells in median distances (avm.hpp); 0: it does not change.
  double delta_factor = 0.0;
  // A lower bound of the median squared distance between rows; stored examples may be closer.
  double least_squared = 0.0;
  // The factor by which squared distances between rows grow, for learners that store no rows.
  double spread = 1.0;
  // Whether f should keep its values at the stored examples, instead of its coefs.
  bool keeps_values = false;

  // The last so many rounds already use the new units, and `since` is the first of them; 0:
  // unknown.
  std::int64_t rounds = 0;
  std::int64_t since = 0;

  // Whether anything depends on the distances between examples.
  [[nodiscard]] bool by_distance() const { return finds_gamma || delta_factor > 0.0; }

  // The new value of coordinate z of this feature, in float64; `older`: the example was stored
  // before `since`.
  [[nodiscard]] virtual double convert(std::int32_t feature, double z, bool older) const = 0;
  // The same without clipping, for what is linear in coordinates. If stored examples keep their
  // coordinates, weights do too.
  [[nodiscard]] virtual UnitStep step(std::int32_t feature) const = 0;
  // The features for which coordinate 0 may get another value, in their order.
  [[nodiscard]] virtual std::span<const std::int32_t> moved_zeros() const = 0;

  // Converts a stored example to the new units. `adds`: includes the features that it lacks and
  // whose coordinate is no longer 0. O(non-zeros of z and moved zeros)
  template <class Real>
  void convert(const Sample<Real>& z, OwnedSample<Real>& out, bool older, bool adds) const {
    out.dense = z.dense();
    out.values.clear();
    out.indices.clear();
    const std::span<const std::int32_t> moved = moved_zeros();
    std::size_t next = 0;
    const auto add_until = [&](std::int64_t end) {
      for (; next < moved.size() && moved[next] < end; ++next) append(moved[next], 0.0, older, out);
    };
    for (std::size_t k = 0; k < z.count; ++k) {
      const std::int32_t feature = z.feature(k);
      if (adds && !out.dense) add_until(feature);
      if (next < moved.size() && moved[next] == feature) ++next;
      append(feature, static_cast<double>(z.values[k]), older, out);
    }
    if (adds && !out.dense) add_until(std::int64_t{1} << 31);
  }

 protected:
  UnitChange() = default;
  UnitChange(const UnitChange&) = default;
  UnitChange& operator=(const UnitChange&) = default;
  ~UnitChange() = default;

 private:
  template <class Real>
  void append(std::int32_t feature, double z, bool older, OwnedSample<Real>& out) const {
    const Real value = static_cast<Real>(convert(feature, z, older));
    if (out.dense) {
      out.values.push_back(value);
    } else if (value != Real(0)) {
      out.values.push_back(value);
      out.indices.push_back(feature);
    }
  }
};

// What a learner reports: its gamma, the mean |change of f| at the stored examples (0 if there is
// no listener), and the diameter of its cells (0 if it has none).
struct UnitsChanged {
  double gamma = 1.0;
  double moved = 0.0;
  double delta = 0.0;
};

// `gamma` as rows of this type can use it: neither 0 nor infinite.
template <class Real>
[[nodiscard]] bool usable_gamma(double gamma) {
  const Real usable = static_cast<Real>(gamma);
  return std::isfinite(usable) && usable > Real(0);
}

}  // namespace budgetron
