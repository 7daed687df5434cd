// Passes over the coefs of all stored examples: the numbers by which budgets choose, the growth of
// the coefs that stay, and sums of powers of a kernel row.
//
// coef_ops.cpp is compiled once per instruction set like kernel_row.cpp. Two examples meet only in
// a minimum and in sums of a fixed order, and nothing is contracted, so all instruction sets give
// the bits of a plain loop. Arrays of coefs and kernel rows are 64-byte aligned; other arrays need
// not be.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

// How likely each example is to leave. The probability of example i is proportional to 1 - share
// w_i, or 0 if that is negative, where w_i = |factor weights[i]|. The weights may be coefs.
struct Chances {
  const double* weights = nullptr;
  double factor = 1.0;
  double share = 0.0;
  bool alike = false;  // all w_i are known to be equal

  [[nodiscard, gnu::always_inline]] double operator[](std::size_t i) const {
    const double chance = 1.0 - share * __builtin_fabs(factor * weights[i]);
    return chance > 0.0 ? chance : 0.0;
  }
};

// Five sums, each in eight parts: the order of the terms is the same on every instruction set.
struct PowerSums {
  static constexpr std::size_t kSums = 5;
  static constexpr std::size_t kChains = 8;

  alignas(64) double parts[kSums][kChains] = {};
};

template <class Real>
struct CoefFunctions {
  static constexpr std::size_t kBlock = 16;

  // |a_i| for n examples (expansion.hpp); the coef of output k is factor * coefs[k * stride + i].
  void (*sizes)(const double* coefs, std::size_t stride, std::size_t outputs, double factor,
                std::size_t n, double* sizes);
  // losses[i] = (factor sizes[i])^2 (1 - row[i]^2), n > 0; returns the least of them. `sizes` may
  // be aligned coefs or the losses themselves.
  double (*losses)(const double* sizes, const Real* row, double factor, std::size_t n,
                   double* losses);
  // The first place of `number` in numbers[from], ..., numbers[n - 1]; n if it is not there.
  std::size_t (*find)(const double* numbers, std::size_t from, std::size_t n, double number);
  // The place of the least of n ids, n > 0; the first if several are equal.
  std::size_t (*oldest)(const std::int64_t* ids, std::size_t n);
  // Whether all |numbers[i]| are equal, n > 0.
  bool (*alike)(const double* numbers, std::size_t n);
  // The sum of all w_i, n > 0, and the sum of the chances themselves. sums[b] becomes the sum up to
  // the end of block b of kBlock. Within a block there are four independent sums.
  double (*sum_weights)(const Chances& chances, std::size_t n, double* sums);
  double (*sum_chances)(const Chances& chances, std::size_t n, double* sums);
  // a_i <- growth a_i, clipped to +-limit.
  void (*grow)(double* coefs, double growth, double limit, std::size_t n);
  // The same with growth total / (total - chances[i]). |factor a_i| is clipped to `clip`, that is
  // |a_i| to `limit`.
  void (*grow_by_chances)(double* coefs, double factor, const Chances& chances, double total,
                          double clip, double limit, std::size_t n);
  // Adds coefs[i] q^p to sums.parts[j][i % kChains] for every i < n, with q = min(1, scale row[i])
  // and p = 1/4, 2, 16, 128, 0 for j = 0, 1, 2, 3, 4.
  void (*add_powers)(const double* coefs, const Real* row, double scale, std::size_t n,
                     PowerSums& sums);
};

// The functions of the dispatched instruction set (dispatch.cpp).
template <class Real>
const CoefFunctions<Real>& coef_functions();

}  // namespace budgetron
