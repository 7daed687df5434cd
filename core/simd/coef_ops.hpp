// Passes over the coefs of all stored examples: what budgets choose by, and how those that stay
// grow.
//
// coef_ops.cpp is compiled once per instruction set like kernel_row.cpp. No two examples meet in an
// operation but in a minimum and in sums of a fixed order, and nothing is contracted, so all
// instruction sets give the bits of a plain loop. Arrays of coefs and kernel rows are 64-byte
// aligned, other numbers need not be.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

// How likely examples are to leave: example i up to a common factor with 1 - share w_i, or 0 if
// that is negative, where w_i = |factor weights[i]|. The weights may be coefs.
struct Chances {
  const double* weights = nullptr;
  double factor = 1.0;
  double share = 0.0;
  bool alike = false;  // all w_i are known to be the same

  [[nodiscard, gnu::always_inline]] double operator[](std::size_t i) const {
    const double chance = 1.0 - share * __builtin_fabs(factor * weights[i]);
    return chance > 0.0 ? chance : 0.0;
  }
};

template <class Real>
struct CoefFunctions {
  static constexpr std::size_t kBlock = 16;

  // |a_i| of n examples (expansion.hpp), whose coef of output k is factor * coefs[k * stride + i].
  void (*sizes)(const double* coefs, std::size_t stride, std::size_t outputs, double factor,
                std::size_t n, double* sizes);
  // losses[i] = (factor sizes[i])^2 (1 - row[i]^2), n > 0; returns the least of them. `sizes` may
  // be aligned coefs or the losses themselves.
  double (*losses)(const double* sizes, const Real* row, double factor, std::size_t n,
                   double* losses);
  // Where `number` first is among numbers[from], ..., numbers[n - 1]; n if it is not.
  std::size_t (*find)(const double* numbers, std::size_t from, std::size_t n, double number);
  // Where the least of n ids is, n > 0; the first of the tied.
  std::size_t (*oldest)(const std::int64_t* ids, std::size_t n);
  // Whether all |numbers[i]| are the same, n > 0.
  bool (*alike)(const double* numbers, std::size_t n);
  // The sum of all w_i of `chances`, n > 0, and of the chances themselves. sums[b] becomes the sum
  // up to the end of block b of kBlock, within which four sums need not wait for each other.
  double (*sum_weights)(const Chances& chances, std::size_t n, double* sums);
  double (*sum_chances)(const Chances& chances, std::size_t n, double* sums);
  // a_i <- growth a_i, or +-limit where that would be passed.
  void (*grow)(double* coefs, double growth, double limit, std::size_t n);
  // The same with growth total / (total - chances[i]), where |factor a_i| may not pass `clip`, that
  // is |a_i| not `limit`.
  void (*grow_by_chances)(double* coefs, double factor, const Chances& chances, double total,
                          double clip, double limit, std::size_t n);
};

// Of the instruction set that row_functions picked.
template <class Real>
const CoefFunctions<Real>& coef_functions();

}  // namespace budgetron
