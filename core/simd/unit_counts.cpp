// Statistics of features in SIMD: see unit_counts.hpp. Compiled once per instruction set with
// BUDGETRON_ISA set.
#include "simd/unit_counts.hpp"

#include "simd/vec.hpp"

namespace budgetron {
namespace {

typedef long long Mask __attribute__((vector_size(kBytes)));
constexpr std::size_t kPart = kWidth<double>;  // features per step

inline bool any(Mask mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)mask) != 0;
#else
  return (mask[0] | mask[1]) != 0;
#endif
}

// One part of a group. Returns false and changes nothing if a value is far from the mean: the
// caller then goes value by value.
inline bool count_part(double* f, const Doubles& x, double row, double half) {
  const auto at = [f](std::size_t count) -> Doubles& {
    return *reinterpret_cast<Doubles*>(f + count * kGroup);
  };
  const Doubles mean = at(kMean);
  const Doubles square = at(kSquare);
  const Doubles e = x - mean;
  const Doubles e2 = e * e;
  const Mask there = x != 0.0;
  const Mask begins = at(kRecent) == 0.0;
  const Doubles dense = Doubles{} + kFarSquare;
  const Doubles far = at(kWeight) < Doubles{} + half ? Doubles{} + kSparseFar : dense;
  if (any((e2 > far * square) & there & ~begins)) return false;
  const Doubles zero{};
  const Doubles one = zero + 1.0;
  const Doubles weight = there ? zero + row : zero;
  const Doubles recent = at(kRecent) + weight;
  const Doubles count = at(kBlockCount) + (there ? one : zero);
  const Doubles both = 1.0 / (recent * count);
  const Doubles gain = begins ? one : row * count * both;
  const Doubles inverse = count == 1.0 ? one : recent * both;
  const Doubles b = x - at(kBlockMean);
  const Doubles block_mean = at(kBlockMean) + b * inverse;
  const Doubles block_square = at(kBlockSquare) + b * (x - block_mean);
  at(kMean) = there ? mean + gain * e : mean;
  at(kSquare) = there ? (1.0 - gain) * (square + gain * e2) : square;
  at(kBlockMean) = there ? block_mean : at(kBlockMean);
  at(kBlockSquare) = there ? block_square : at(kBlockSquare);
  at(kWeight) += weight;
  at(kRecent) = recent;
  at(kBlockCount) = count;
  return true;
}

template <class Real>
void count_values(double* groups, const Real* x, std::size_t count, double row, double half) {
  typedef Real Part
      __attribute__((vector_size(kPart * sizeof(Real)), aligned(sizeof(Real)), may_alias));
  alignas(64) Real last[kGroup] = {};  // values of an incomplete last group; written first,
                                       // so that no load waits for the stores
  const std::size_t whole = count / kGroup * kGroup;
  for (std::size_t j = whole; j < count; ++j) last[j - whole] = x[j];
  for (std::size_t first = 0; first < count; first += kGroup) {
    const Real* const values = first < whole ? x + first : last;
    for (std::size_t part = 0; part < kGroup; part += kPart) {
      double* const f = groups + first * kGroup + part;
      Doubles v = __builtin_convertvector(*reinterpret_cast<const Part*>(values + part), Doubles);
      const Doubles most = Doubles{} + kCountable;
      v = v > most ? most : v;
      v = v < -most ? -most : v;
      if (count_part(f, v, row, half)) continue;
      for (std::size_t l = 0; l < kPart; ++l) {
        if (v[l] != 0.0) count_value(f + l, v[l], row, half);
      }
    }
  }
}

template <class Real>
void show_values(const Real* x, const double* centres, const double* sizes, double most, Real* out,
                 std::size_t count) {
  typedef Real Part
      __attribute__((vector_size(kPart * sizeof(Real)), aligned(sizeof(Real)), may_alias));
  const Doubles high = Doubles{} + most;
  const auto show = [&](std::size_t j) {
    const Doubles values = __builtin_convertvector(*reinterpret_cast<const Part*>(x + j), Doubles);
    Doubles z = (values - load_loose(centres + j)) / load_loose(sizes + j);
    z = z > high ? high : z;
    z = z < -high ? -high : z;
    *reinterpret_cast<Part*>(out + j) = __builtin_convertvector(z + 0.0, Part);
  };
  std::size_t j = 0;
  for (; j + kPart <= count; j += kPart) show(j);
  if (j < count && count >= kPart) {
    show(count - kPart);
    return;
  }
  for (; j < count; ++j) {
    out[j] = static_cast<Real>(shown_value(static_cast<double>(x[j]), centres[j], sizes[j], most));
  }
}

template <class Real>
bool any_nan(const Real* x, std::size_t count) {
  constexpr std::size_t width = kWidth<Real>;
  Mask found{};
  const auto look = [&](std::size_t k) {
    const Vector<Real> v = load_loose(x + k);
    found |= (Mask)(v != v);
  };
  std::size_t k = 0;
  for (; k + width <= count; k += width) look(k);
  if (k < count && count >= width) look(count - width);
  if (any(found)) return true;
  for (; count < width && k < count; ++k) {
    if (x[k] != x[k]) return true;
  }
  return false;
}

template <class Real>
void distances(const Real* x, const double* columns, std::size_t count, double* sums) {
  constexpr std::size_t rows = UnitCountFunctions<Real>::kRowsAtOnce;
  constexpr std::size_t vectors = rows / kPart;
  Doubles sum[vectors] = {};
  for (std::size_t f = 0; f < count; ++f) {
    const Doubles value = all<double>(static_cast<double>(x[f]));
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      const Doubles difference = value - read<Doubles>(columns + f * rows + v * kPart);
      sum[v] = sum[v] + difference * difference;
    }
  }
  __builtin_memcpy(sums, sum, sizeof sum);
}

}  // namespace

extern const UnitCountFunctions<float> BUDGETRON_CONCAT(unit_count_functions_float_, BUDGETRON_ISA);
extern const UnitCountFunctions<double> BUDGETRON_CONCAT(unit_count_functions_double_,
                                                         BUDGETRON_ISA);
const UnitCountFunctions<float> BUDGETRON_CONCAT(unit_count_functions_float_, BUDGETRON_ISA) = {
    count_values<float>, show_values<float>, any_nan<float>, distances<float>};
const UnitCountFunctions<double> BUDGETRON_CONCAT(unit_count_functions_double_, BUDGETRON_ISA) = {
    count_values<double>, show_values<double>, any_nan<double>, distances<double>};

}  // namespace budgetron
