// Passes over a packed upper triangle: what a covariance (covariance.hpp) costs, in SIMD.
//
// The triangle is stored in panels of kPanel columns. Column j of panel p = j / kPanel is
// contiguous and as long as the panel is high, kPanel (p + 1) numbers: the values above the
// diagonal, 1 on it, 0 below it. The ones and zeros cost half a panel of memory, and no pass needs
// a special case:
//
//   project   f_j = sum_i U_ij k_i                                   one read
//   combine   g_i = sum_j v_j U_ij                                   one read
//   condition g and at once U_ij += l_j g_i, where g_i holds the terms of the columns before j;
//             a row that no column before j has reached has g_i = 0, so ones and zeros stay
//                                                                    one read, one write
//
// packed_triangle.cpp is compiled once per instruction set like kernel_row.cpp. Sums run in kPanel
// fixed lanes of Number, so AVX2 and AVX-512 give the same bits. Memory is 64-byte aligned; vectors
// of numbers per column are kPanel * panels long.
#pragma once

#include <cstddef>

namespace budgetron {

template <class Number>
inline constexpr std::size_t kPanel = 64 / sizeof(Number);  // a cache line

// The number of values in so many panels, which is also the start of the next panel. Static: see
// RowTask.
template <class Number>
static inline constexpr std::size_t panel_numbers(std::size_t panels) {
  return kPanel<Number> * kPanel<Number> * panels * (panels + 1) / 2;
}

template <class Number>
struct TriangleFunctions {
  void (*project)(const Number* columns, std::size_t panels, const Number* k, Number* f);
  void (*combine)(const Number* columns, std::size_t panels, const Number* v, Number* g);
  void (*condition)(Number* columns, std::size_t panels, const Number* v, const Number* l,
                    Number* g);
  // For every column: v_j = d_j f_j and e_j = f_j d_j f_j.
  void (*scale_by_variances)(std::size_t count, const Number* f, const double* d, Number* v,
                             double* e);
  // For every column: d_j <- max(d_j alpha_j/alpha_j+1, least), l_j = -f_j/alpha_j.
  void (*shrink_variances)(std::size_t count, const double* alpha, const Number* f, double least,
                           double* d, Number* l);
};

// The functions of the dispatched instruction set (dispatch.cpp).
template <class Number>
const TriangleFunctions<Number>& triangle_functions();

}  // namespace budgetron
