// Passes over a packed upper triangle: what a covariance (covariance.hpp) costs, in SIMD.
//
// The triangle lies in panels of kPanel columns. Column j of panel p = j / kPanel is contiguous and
// as long as the panel is high, kPanel (p + 1) numbers: above the diagonal what it holds, on it 1,
// below it 0. The ones and zeros cost half a panel in memory, and no pass needs a corner case:
//
//   project   f_j = sum_i U_ij k_i                                   one read
//   combine   g_i = sum_j v_j U_ij                                   one read
//   condition g and at once U_ij += l_j g_i, where g_i holds the terms of the columns before j;
//             a row that no column before j has reached has g_i = 0, so ones and zeros stay
//                                                                    one read, one write
//
// packed_triangle.cpp is compiled once per instruction set like kernel_row.cpp. Sums run in kPanel
// fixed lanes, so AVX2 and AVX-512 give the same bits. Memory is 64-byte aligned; vectors of
// numbers per column are kPanel * panels long.
#pragma once

#include <cstddef>

namespace budgetron {

inline constexpr std::size_t kPanel = 8;  // a cache line of doubles

// Numbers in so many panels, and so where the next one starts. Static: see RowTask.
static inline constexpr std::size_t panel_numbers(std::size_t panels) {
  return kPanel * kPanel * panels * (panels + 1) / 2;
}

struct TriangleFunctions {
  void (*project)(const double* columns, std::size_t panels, const double* k, double* f);
  void (*combine)(const double* columns, std::size_t panels, const double* v, double* g);
  void (*condition)(double* columns, std::size_t panels, const double* v, const double* l,
                    double* g);
  // Per column: v_j = d_j f_j, and f_j v_j in e_j.
  void (*scale_by_variances)(std::size_t count, const double* f, const double* d, double* v,
                             double* e);
  // Per column: d_j <- max(d_j alpha_j/alpha_j+1, least), l_j = -f_j/alpha_j.
  void (*shrink_variances)(std::size_t count, const double* alpha, const double* f, double least,
                           double* d, double* l);
};

// Of the instruction set that row_functions picked.
const TriangleFunctions& triangle_functions();

}  // namespace budgetron
