// The reference for the kernel row: the loop that one would write first.
//
// Stored examples are row-major; kernel values are computed one at a time, with exp from libm:
//
//   for i:  s = sum_j (x_j - x_ij)^2 ;  row_i = exp(-gamma s)
//
// There are two versions, because the compiler may not reorder a floating-point sum by itself:
// `plain` adds in order, one value at a time; `vectorised` permits the reordering (omp simd). Both
// are compiled per instruction set like the row itself, with contraction to multiply-adds allowed.
#pragma once

#include <cstddef>

template <class Real>
struct RowMajorTask {
  const Real* examples;  // row-major, count x width
  std::size_t count;
  std::size_t width;
  const Real* x;
  Real gamma;
  Real* row;  // output: count kernel values
};

template <class Real>
struct RowMajorLoops {
  void (*plain)(const RowMajorTask<Real>& task);
  void (*vectorised)(const RowMajorTask<Real>& task);
};
