// Passes over a packed upper triangle in SIMD: see packed_triangle.hpp. Compiled once per
// instruction set with BUDGETRON_ISA set.
//
// Four columns go together: their numbers are read once, and what the rows collect is loaded and
// stored once for the four. `project` runs from the last panel to the first and the others from the
// first to the last, so that a triangle larger than the cache is met where it was left.
#include "simd/packed_triangle.hpp"

#include "simd/vec.hpp"

namespace budgetron {
namespace {

constexpr std::size_t kTogether = 4;  // columns

// Lanes are added in halves on every instruction set: 8 to 4, 4 to 2, 2 to 1.
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

// sum_lanes of each column; where a vector has as many lanes as there are columns, all at once.
template <std::size_t vectors>
inline void sum_columns(Doubles (&sums)[kTogether][vectors], double* f) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  static_assert(vectors == 2 && kTogether == 4);
  __m256d halves[kTogether];
#pragma GCC unroll 4
  for (std::size_t c = 0; c < kTogether; ++c) halves[c] = (__m256d)(sums[c][0] + sums[c][1]);
  const auto quarters = [](__m256d a, __m256d b) {  // lanes 0 and 1 plus 2 and 3, of both
    return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
  };
  const __m256d even = quarters(halves[0], halves[2]);
  const __m256d odd = quarters(halves[1], halves[3]);
  _mm256_store_pd(f, _mm256_hadd_pd(even, odd));
#else
  for (std::size_t c = 0; c < kTogether; ++c) f[c] = sum_lanes(sums[c]);
#endif
}

// Rows [first, last) of k, in whole panels, with something other than 0.
struct Stretch {
  std::size_t first;
  std::size_t last;
};
constexpr std::size_t kStretches = 16;

// Finds them; what is behind the last one that has a place is part of it. A row with few features
// is mostly 0 where features have coordinates.
inline std::size_t find_stretches(const double* k, std::size_t panels, Stretch* stretches) {
  std::size_t count = 0;
  bool inside = false;
  for (std::size_t p = 0; p < panels; ++p) {
    const double* const at = k + kPanel * p;
    bool any = false;
    for (std::size_t i = 0; i < kPanel; ++i) any |= at[i] != 0.0;
    if (any && !inside) {
      if (count == kStretches) {
        stretches[count - 1].last = kPanel * panels;
        return count;
      }
      stretches[count++].first = kPanel * p;
    }
    if (any) stretches[count - 1].last = kPanel * (p + 1);
    inside = any;
  }
  return count;
}

void project(const double* columns, std::size_t panels, const double* k, double* f) {
  constexpr std::size_t vectors = kPanel / kWidth<double>;
  Stretch stretches[kStretches];
  const std::size_t count = find_stretches(k, panels, stretches);
  for (std::size_t p = panels; p-- > 0;) {
    const std::size_t height = kPanel * (p + 1);
    for (std::size_t first = 0; first < kPanel; first += kTogether) {
      const double* u = columns + panel_numbers(p) + first * height;
      Doubles sums[kTogether][vectors] = {};
      for (std::size_t s = 0; s < count && stretches[s].first < height; ++s) {
        const std::size_t last = stretches[s].last < height ? stretches[s].last : height;
        for (std::size_t i = stretches[s].first; i < last; i += kPanel) {
#pragma GCC unroll 8
          for (std::size_t b = 0; b < vectors; ++b) {
            const std::size_t at = i + b * kWidth<double>;
            const Doubles row = load<double>(k + at);
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kTogether; ++c) {
              sums[c][b] = multiply_add(load<double>(u + c * height + at), row, sums[c][b]);
            }
          }
        }
      }
      sum_columns(sums, f + kPanel * p + first);
    }
  }
}

template <bool changes, class Number>
inline void sweep(Number* columns, std::size_t panels, const double* v, const double* l,
                  double* g) {
  for (std::size_t i = 0; i < kPanel * panels; ++i) g[i] = 0.0;
  for (std::size_t p = 0; p < panels; ++p) {
    const std::size_t height = kPanel * (p + 1);
    for (std::size_t first = 0; first < kPanel; first += kTogether) {
      Number* u = columns + panel_numbers(p) + first * height;
      const std::size_t j = kPanel * p + first;
      Doubles weights[kTogether];
      Doubles slopes[kTogether] = {};
#pragma GCC unroll 4
      for (std::size_t c = 0; c < kTogether; ++c) {
        weights[c] = all<double>(v[j + c]);
        if constexpr (changes) slopes[c] = all<double>(l[j + c]);
      }
      for (std::size_t i = 0; i < height; i += kWidth<double>) {
        Doubles sum = load<double>(g + i);
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kTogether; ++c) {
          const Doubles number = load<double>(u + c * height + i);
          if constexpr (changes) {
            store<double>(u + c * height + i, multiply_add(slopes[c], sum, number));
          }
          sum = multiply_add(weights[c], number, sum);
        }
        store<double>(g + i, sum);
      }
    }
  }
}

void combine(const double* columns, std::size_t panels, const double* v, double* g) {
  sweep<false>(columns, panels, v, nullptr, g);
}

void condition(double* columns, std::size_t panels, const double* v, const double* l, double* g) {
  sweep<true>(columns, panels, v, l, g);
}

void scale_by_variances(std::size_t count, const double* __restrict f, const double* __restrict d,
                        double* __restrict v, double* __restrict e) {
  for (std::size_t j = 0; j < count; ++j) {
    v[j] = d[j] * f[j];
    e[j] = f[j] * v[j];
  }
}

void shrink_variances(std::size_t count, const double* __restrict alpha, const double* __restrict f,
                      double least, double* __restrict d, double* __restrict l) {
  for (std::size_t j = 0; j < count; ++j) {
    const double variance = d[j] * (alpha[j] / alpha[j + 1]);
    d[j] = variance > least ? variance : least;
    l[j] = -f[j] / alpha[j];
  }
}

}  // namespace

extern const TriangleFunctions BUDGETRON_CONCAT(triangle_functions_, BUDGETRON_ISA);
const TriangleFunctions BUDGETRON_CONCAT(triangle_functions_, BUDGETRON_ISA) = {
    project, combine, condition, scale_by_variances, shrink_variances};

}  // namespace budgetron
