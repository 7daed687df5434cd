// Running statistics of features, values in units, the check for missing values, and distances
// between the first rows (model/units.hpp and model/warmup.hpp explain what they are for).
//
//   e = x - mean, at most 8 sqrt(square), or 4 if weight < half ;  gain g = row/recent
//   mean += g e ;   square = (1 - g)(square + g e^2)
//   block: count, how many were far, mean and squares, by Welford's recursion (1962)
//
// Features are stored in groups of eight: a group is eight rows of eight numbers, one row per
// statistic, so that one vector holds one statistic of eight features. Both functions round in the
// same way: gain and 1/count come from one division, and where they are 1 they are exactly 1.
//
// unit_counts.cpp is compiled once per instruction set like kernel_row.cpp.
#pragma once

#include <cmath>
#include <cstddef>

namespace budgetron {

inline constexpr std::size_t kGroup = 8;
enum UnitCount : std::size_t {
  kWeight,
  kRecent,
  kMean,
  kSquare,
  kBlockCount,
  kBlockFar,
  kBlockMean,
  kBlockSquare
};
inline constexpr std::size_t kGroupNumbers = 8 * kGroup;
// squared deviations; a farther value counts as this far
inline constexpr double kFarSquare = 64.0;
inline constexpr double kSparseFar = 16.0;  // the same for a feature that is 0 in most rows
// larger values count as this, because their squares overflow
inline constexpr double kCountable = 1e152;

// Counts one nonzero value of a feature. Its weight is *f; its other statistics are kGroup apart.
inline void count_value(double* f, double x, double row, double half) {
  const bool begins = f[kRecent * kGroup] == 0.0;
  const double far = f[kWeight * kGroup] < half ? kSparseFar : kFarSquare;
  f[kWeight * kGroup] += row;
  const double recent = f[kRecent * kGroup] += row;
  const double count = f[kBlockCount * kGroup] += 1.0;
  const double both = 1.0 / (recent * count);
  const double gain = begins ? 1.0 : row * count * both;
  const double inverse = count == 1.0 ? 1.0 : recent * both;
  double& mean = f[kMean * kGroup];
  double& square = f[kSquare * kGroup];
  double e = x - mean;
  double e2 = e * e;
  const double most = far * square;
  if (e2 > most && !begins) {
    f[kBlockFar * kGroup] += 1.0;
    if (most > 0.0) {
      e = std::copysign(std::sqrt(most), e);
      e2 = most;
    }
  }
  mean += gain * e;
  square = (1.0 - gain) * (square + gain * e2);
  double& block_mean = f[kBlockMean * kGroup];
  const double b = x - block_mean;
  block_mean += b * inverse;
  f[kBlockSquare * kGroup] += b * (x - block_mean);
}

// A value in its feature's unit, clipped to +-`most`. If the size of the unit is infinite the
// result is 0, never -0.
inline double shown_value(double x, double centre, double size, double most) {
  double z = (x - centre) / size;
  z = z > most ? most : z;
  z = z < -most ? -most : z;
  return z + 0.0;
}

template <class Real>
struct UnitCountFunctions {
  // count_value for every x that is not 0, of `count` features; groups are 64-byte aligned.
  void (*count_values)(double* groups, const Real* x, std::size_t count, double row, double half);
  // shown_value for `count` features; `out` must not be x.
  void (*show_values)(const Real* x, const double* centres, const double* sizes, double most,
                      Real* out, std::size_t count);
  // Whether any of `count` values is NaN.
  bool (*any_nan)(const Real* x, std::size_t count);
  // sums[j] = sum_f (x[f] - columns[f * kRowsAtOnce + j])^2 for every j < kRowsAtOnce; each sum has
  // its terms in the order of the `count` features.
  static constexpr std::size_t kRowsAtOnce = 16;
  void (*distances)(const Real* x, const double* columns, std::size_t count, double* sums);
};

// The functions of the dispatched instruction set (dispatch.cpp).
template <class Real>
const UnitCountFunctions<Real>& unit_count_functions();

}  // namespace budgetron
