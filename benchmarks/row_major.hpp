// What the kernel row is measured against: the loop one would write first.
//
// Stored examples row-major, a Gaussian kernel value at a time, exp from libm:
//
//   for i:  s = sum_j (x_j - x_ij)^2 ;  row_i = exp(-gamma s)
//
// Twice, because the compiler may not reorder a floating-point sum by itself: `plain` adds in
// order, one value at a time; `vectorised` permits the reordering (omp simd). Both are compiled per
// instruction set like the row itself, with contraction to multiply-adds allowed.
#pragma once

#include <cstddef>

template <class Real>
struct RowMajorTask {
  const Real* examples;  // row-major, count x width
  std::size_t count;
  std::size_t width;
  const Real* x;
  Real gamma;
  Real* row;  // out: count kernel values
};

template <class Real>
struct RowMajorLoops {
  void (*plain)(const RowMajorTask<Real>& task);
  void (*vectorised)(const RowMajorTask<Real>& task);
};
