// Passes over a packed upper triangle in SIMD: see panels.hpp. Compiled once per instruction set
// with BUDGETRON_ISA set.
//
// Four columns go together: their numbers are read once, and what the rows collect is loaded and
// stored once for the four. `project` runs from the last panel to the first and the others from the
// first to the last, so that a triangle larger than the cache is met where it was left.
#include "panels.hpp"

#include "vectors.hpp"

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

void project(const double* columns, std::size_t panels, const double* k, double* f) {
  constexpr std::size_t vectors = kPanel / kWidth<double>;
  for (std::size_t p = panels; p-- > 0;) {
    const std::size_t height = kPanel * (p + 1);
    for (std::size_t first = 0; first < kPanel; first += kTogether) {
      const double* u = columns + panel_numbers(p) + first * height;
      Doubles sums[kTogether][vectors] = {};
      for (std::size_t i = 0; i < height; i += kPanel) {
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
      for (std::size_t c = 0; c < kTogether; ++c) f[kPanel * p + first + c] = sum_lanes(sums[c]);
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

}  // namespace

extern const PanelFunctions BUDGETRON_CONCAT(panel_functions_, BUDGETRON_ISA);
const PanelFunctions BUDGETRON_CONCAT(panel_functions_, BUDGETRON_ISA) = {project, combine,
                                                                          condition};

}  // namespace budgetron
