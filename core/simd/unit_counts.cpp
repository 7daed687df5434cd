// Statistics of features in SIMD: see unit_counts.hpp. Compiled once per instruction set with
// BUDGETRON_ISA set.
#include "simd/unit_counts.hpp"

#include "simd/vec.hpp"

namespace budgetron {
namespace {

typedef double Eight __attribute__((vector_size(kGroup * sizeof(double)), may_alias));
typedef long long Mask __attribute__((vector_size(kGroup * sizeof(double))));

inline bool any(Mask mask) {
  long long bits = 0;
#pragma GCC unroll 8
  for (std::size_t l = 0; l < kGroup; ++l) bits |= mask[l];
  return bits != 0;
}

// False, and nothing has changed, if a value is far: then it goes value by value.
inline bool count_group(Eight* f, const Eight& x, double row) {
  const Eight mean = f[kMean];
  const Eight square = f[kSquare];
  const Eight e = x - mean;
  const Eight e2 = e * e;
  const Mask there = x != 0.0;
  const Mask begins = f[kRecent] == 0.0;
  if (any((e2 > kFarSquare * square) & there & ~begins)) return false;
  const Eight zero{};
  const Eight one = zero + 1.0;
  const Eight weight = there ? zero + row : zero;
  const Eight recent = f[kRecent] + weight;
  const Eight count = f[kBlockCount] + (there ? one : zero);
  const Eight both = 1.0 / (recent * count);
  const Eight gain = begins ? one : row * count * both;
  const Eight inverse = count == 1.0 ? one : recent * both;
  const Eight b = x - f[kBlockMean];
  const Eight block_mean = f[kBlockMean] + b * inverse;
  const Eight block_square = f[kBlockSquare] + b * (x - block_mean);
  f[kMean] = there ? mean + gain * e : mean;
  f[kSquare] = there ? (1.0 - gain) * (square + gain * e2) : square;
  f[kBlockMean] = there ? block_mean : f[kBlockMean];
  f[kBlockSquare] = there ? block_square : f[kBlockSquare];
  f[kWeight] += weight;
  f[kRecent] = recent;
  f[kBlockCount] = count;
  return true;
}

template <class Real>
void count_values(double* groups, const Real* x, std::size_t count, double row) {
  for (std::size_t first = 0; first < count; first += kGroup) {
    double* const f = groups + first * kGroup;
    Eight values{};
    if (first + kGroup <= count) {
#pragma GCC unroll 8
      for (std::size_t l = 0; l < kGroup; ++l) values[l] = static_cast<double>(x[first + l]);
    } else {
      for (std::size_t l = 0; first + l < count; ++l) values[l] = static_cast<double>(x[first + l]);
    }
    const Eight most = Eight{} + kCountable;
    values = values > most ? most : values;
    values = values < -most ? -most : values;
    if (count_group(reinterpret_cast<Eight*>(f), values, row)) continue;
    for (std::size_t l = 0; l < kGroup; ++l) {
      if (values[l] != 0.0) count_value(f + l, values[l], row);
    }
  }
}

}  // namespace

extern const UnitCountFunctions<float> BUDGETRON_CONCAT(unit_count_functions_float_, BUDGETRON_ISA);
extern const UnitCountFunctions<double> BUDGETRON_CONCAT(unit_count_functions_double_,
                                                         BUDGETRON_ISA);
const UnitCountFunctions<float> BUDGETRON_CONCAT(unit_count_functions_float_,
                                                 BUDGETRON_ISA) = {count_values<float>};
const UnitCountFunctions<double> BUDGETRON_CONCAT(unit_count_functions_double_,
                                                  BUDGETRON_ISA) = {count_values<double>};

}  // namespace budgetron
