// Statistics of features, value by value, values in units, and whether any is missing
// (model/units.hpp says what they are for).
//
//   e = x - mean, at most 8 sqrt(square), or 4 if weight < half ;  gain g = row/recent
//   mean += g e ;   square = (1 - g)(square + g e^2)
//   block: count, how many were far, mean and squares, by Welford's recursion (1962)
//
// Features lie in groups of eight: a group is eight rows of eight numbers, one row per statistic,
// so that one vector is one statistic of eight features. Both functions round alike: gain and
// 1/count come from one division, and where they are 1 they are exactly that.
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
inline constexpr double kFarSquare = 64.0;   // squared deviations; a value counts as no farther
inline constexpr double kSparseFar = 16.0;   // likewise of a feature that is 0 in most rows
inline constexpr double kCountable = 1e152;  // larger values count as this: squares overflow

// One value other than 0 of the feature whose weight is *f, the other statistics kGroup apart.
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

// A value in a unit, no farther than `most`. A unit of infinite size has coordinate 0, never -0.
inline double shown_value(double x, double centre, double size, double most) {
  double z = (x - centre) / size;
  z = z > most ? most : z;
  z = z < -most ? -most : z;
  return z + 0.0;
}

template <class Real>
struct UnitCountFunctions {
  // count_value of every x that is not 0, of `count` features; groups are 64-byte aligned.
  void (*count_values)(double* groups, const Real* x, std::size_t count, double row, double half);
  // shown_value of `count` features; `out` is not x.
  void (*show_values)(const Real* x, const double* centres, const double* sizes, double most,
                      Real* out, std::size_t count);
  // Whether one of `count` values is NaN.
  bool (*any_nan)(const Real* x, std::size_t count);
};

// Of the instruction set that row_functions picked.
template <class Real>
const UnitCountFunctions<Real>& unit_count_functions();

}  // namespace budgetron
