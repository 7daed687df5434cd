// Passes over a packed upper triangle in SIMD: see packed_triangle.hpp. Compiled once per
// instruction set with BUDGETRON_ISA set.
//
// Four columns are processed together: their numbers are read once, and the sums of the rows are
// loaded and stored once per four columns. `project` runs from the last panel to the first, the
// others from the first to the last, so that a triangle larger than the cache is entered at the
// part that is still cached.
#include "simd/packed_triangle.hpp"

#include <cstdint>

#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr std::size_t kTogether = 4;  // columns processed together

// Lanes are added in halves on every instruction set: 16 to 8, 8 to 4, 4 to 2, 2 to 1.
template <std::size_t vectors>
inline double sum_lanes(Doubles (&sums)[vectors]) {
#pragma GCC unroll 4
  for (std::size_t half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
    for (std::size_t b = 0; b < half; ++b) sums[b] = sums[b] + sums[b + half];
  }
  double lanes[kWidth<double>];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kWidth<double>; ++j) lanes[j] = sums[0][static_cast<int>(j)];
#pragma GCC unroll 8
  for (std::size_t half = kWidth<double> / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

// sum_lanes of each column; if a vector has as many lanes as there are columns, all at once.
template <std::size_t vectors>
inline void sum_columns(Doubles (&sums)[kTogether][vectors], double* f) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  static_assert(vectors == 2 && kTogether == 4);
  __m256d halves[kTogether];
#pragma GCC unroll 4
  for (std::size_t c = 0; c < kTogether; ++c) halves[c] = (__m256d)(sums[c][0] + sums[c][1]);
  // (lanes 0 and 1) + (lanes 2 and 3), for both vectors
  const auto quarters = [](__m256d a, __m256d b) {
    return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
  };
  const __m256d even = quarters(halves[0], halves[2]);
  const __m256d odd = quarters(halves[1], halves[3]);
  _mm256_store_pd(f, _mm256_hadd_pd(even, odd));
#else
  for (std::size_t c = 0; c < kTogether; ++c) f[c] = sum_lanes(sums[c]);
#endif
}

typedef float FourFloats __attribute__((vector_size(16), may_alias));

// Adds the second half of the lanes to the first, repeatedly, down to four lanes.
template <std::size_t vectors>
inline FourFloats sum_to_four(Floats (&sums)[vectors]) {
#pragma GCC unroll 4
  for (std::size_t half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
    for (std::size_t b = 0; b < half; ++b) sums[b] = sums[b] + sums[b + half];
  }
#if defined(__AVX512F__)
  const __m512d whole = (__m512d)sums[0];
  // maskz: for the reason given in load_doubles.
  const __m256 eight = _mm256_add_ps((__m256)_mm512_maskz_extractf64x4_pd(0xFF, whole, 0),
                                     (__m256)_mm512_maskz_extractf64x4_pd(0xFF, whole, 1));
  return (FourFloats)_mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#elif defined(__AVX2__)
  const __m256 eight = (__m256)sums[0];
  return (FourFloats)_mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#else
  return (FourFloats)sums[0];
#endif
}

// Transposes four columns: lane c of the sum belongs to column c.
template <std::size_t vectors>
inline void sum_columns(Floats (&sums)[kTogether][vectors], float* f) {
  const FourFloats a = sum_to_four(sums[0]);
  const FourFloats b = sum_to_four(sums[1]);
  const FourFloats c = sum_to_four(sums[2]);
  const FourFloats d = sum_to_four(sums[3]);
  const FourFloats ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);  // lanes 0 and 1 of a and b
  const FourFloats cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const FourFloats ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const FourFloats cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const FourFloats ab_sum = ab + ab_high;  // lane 0 plus 2 of a, of b; lane 1 plus 3 of a, of b
  const FourFloats cd_sum = cd + cd_high;
  const FourFloats even = __builtin_shufflevector(ab_sum, cd_sum, 0, 1, 4, 5);
  const FourFloats odd = __builtin_shufflevector(ab_sum, cd_sum, 2, 3, 6, 7);
  *reinterpret_cast<FourFloats*>(f) = even + odd;
}

// The rows [first, last) of k, in whole panels, that are not all 0.
struct Stretch {
  std::size_t first;
  std::size_t last;
};
constexpr std::size_t kStretches = 16;

// Finds the stretches; the last of kStretches reaches to the end. A row with few features is 0 in
// most places where features have coordinates.
template <class Number>
std::size_t find_stretches(const Number* k, std::size_t panels, Stretch* stretches) {
  constexpr std::size_t panel = kPanel<Number>;
  std::size_t count = 0;
  bool inside = false;
  for (std::size_t p = 0; p < panels; ++p) {
    const Number* const at = k + panel * p;
    bool any = false;
    for (std::size_t i = 0; i < panel; ++i) any |= at[i] != Number(0);
    if (any && !inside) {
      if (count == kStretches) {
        stretches[count - 1].last = panel * panels;
        return count;
      }
      stretches[count++].first = panel * p;
    }
    if (any) stretches[count - 1].last = panel * (p + 1);
    inside = any;
  }
  return count;
}

template <class Number>
void project(const Number* columns, std::size_t panels, const Number* k, Number* f) {
  constexpr std::size_t panel = kPanel<Number>;
  constexpr std::size_t vectors = panel / kWidth<Number>;
  Stretch stretches[kStretches];
  const std::size_t count = find_stretches(k, panels, stretches);
  for (std::size_t p = panels; p-- > 0;) {
    const std::size_t height = panel * (p + 1);
    for (std::size_t first = 0; first < panel; first += kTogether) {
      const Number* u = columns + panel_numbers<Number>(p) + first * height;
      Vector<Number> sums[kTogether][vectors] = {};
      for (std::size_t s = 0; s < count && stretches[s].first < height; ++s) {
        const std::size_t last = stretches[s].last < height ? stretches[s].last : height;
        for (std::size_t i = stretches[s].first; i < last; i += panel) {
#pragma GCC unroll 8
          for (std::size_t b = 0; b < vectors; ++b) {
            const std::size_t at = i + b * kWidth<Number>;
            const Vector<Number> row = load<Number>(k + at);
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kTogether; ++c) {
              sums[c][b] = multiply_add(load<Number>(u + c * height + at), row, sums[c][b]);
            }
          }
        }
      }
      sum_columns(sums, f + panel * p + first);
    }
  }
}

template <bool changes, class Number, class Column>
inline void sweep(Column* columns, std::size_t panels, const Number* v, const Number* l,
                  Number* g) {
  constexpr std::size_t panel = kPanel<Number>;
  for (std::size_t i = 0; i < panel * panels; ++i) g[i] = Number(0);
  for (std::size_t p = 0; p < panels; ++p) {
    const std::size_t height = panel * (p + 1);
    for (std::size_t first = 0; first < panel; first += kTogether) {
      Column* u = columns + panel_numbers<Number>(p) + first * height;
      const std::size_t j = panel * p + first;
      Vector<Number> weights[kTogether];
      Vector<Number> slopes[kTogether] = {};
#pragma GCC unroll 4
      for (std::size_t c = 0; c < kTogether; ++c) {
        weights[c] = all<Number>(v[j + c]);
        if constexpr (changes) slopes[c] = all<Number>(l[j + c]);
      }
      for (std::size_t i = 0; i < height; i += kWidth<Number>) {
        Vector<Number> sum = load<Number>(g + i);
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kTogether; ++c) {
          const Vector<Number> number = load<Number>(u + c * height + i);
          if constexpr (changes) {
            store<Number>(u + c * height + i, multiply_add(slopes[c], sum, number));
          }
          sum = multiply_add(weights[c], number, sum);
        }
        store<Number>(g + i, sum);
      }
    }
  }
}

template <class Number>
void combine(const Number* columns, std::size_t panels, const Number* v, Number* g) {
  sweep<false, Number>(columns, panels, v, nullptr, g);
}

template <class Number>
void condition(Number* columns, std::size_t panels, const Number* v, const Number* l, Number* g) {
  sweep<true, Number>(columns, panels, v, l, g);
}

template <class Number>
void scale_by_variances(std::size_t count, const Number* __restrict f, const double* __restrict d,
                        Number* __restrict v, double* __restrict e) {
  for (std::size_t j = 0; j < count; ++j) {
    const auto number = static_cast<double>(f[j]);
    const double weight = d[j] * number;
    v[j] = static_cast<Number>(weight);
    e[j] = number * weight;
  }
}

template <class Number>
void shrink_variances(std::size_t count, const double* __restrict alpha, const Number* __restrict f,
                      double least, double* __restrict d, Number* __restrict l) {
  for (std::size_t j = 0; j < count; ++j) {
    const double variance = d[j] * (alpha[j] / alpha[j + 1]);
    d[j] = variance > least ? variance : least;
    l[j] = static_cast<Number>(-static_cast<double>(f[j]) / alpha[j]);
  }
}

}  // namespace

#define BUDGETRON_TABLE(Number, name)                                                          \
  extern const TriangleFunctions<Number> name;                                                 \
  const TriangleFunctions<Number> name = {project<Number>, combine<Number>, condition<Number>, \
                                          scale_by_variances<Number>, shrink_variances<Number>};

BUDGETRON_TABLE(float, BUDGETRON_CONCAT(triangle_functions_float_, BUDGETRON_ISA))
BUDGETRON_TABLE(double, BUDGETRON_CONCAT(triangle_functions_double_, BUDGETRON_ISA))

}  // namespace budgetron
