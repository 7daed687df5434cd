// Passes over coefs in SIMD: see coef_ops.hpp. Compiled once per instruction set with BUDGETRON_ISA
// set.
//
// What happens to an example is written once, for a vector of them and for one alone: the last few
// that fill no vector.
#include "simd/coef_ops.hpp"

#include <cstdint>

#include "simd/growth.hpp"
#include "simd/numbers.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

void sizes(const double* coefs, std::size_t stride, std::size_t outputs, double factor,
           std::size_t n, double* sizes) {
  for_each(n, [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    if (outputs == 1) {
      write(sizes + i, absolute(factor * read<Numbers>(coefs + i)));
      return;
    }
    Numbers sum{};
    for (std::size_t k = 0; k < outputs; ++k) {
      const Numbers coef = factor * read<Numbers>(coefs + k * stride + i);
      sum = sum + coef * coef;
    }
    write(sizes + i, root(2.0 * sum));
  });
}

// The minimum runs in `together` chains, which need not wait for each other.
template <class Real>
double losses(const double* sizes, const Real* row, double factor, std::size_t n, double* losses) {
  constexpr std::size_t together = 4;
  const auto lost = [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    const Numbers size = factor * read<Numbers>(sizes + i);
    const Numbers shared = read_row<Numbers>(row + i);
    const Numbers loss = size * size * (1.0 - shared * shared);
    write(losses + i, loss);
    return loss;
  };
  double least = __builtin_inf();
  Doubles chains[together];
  for (Doubles& chain : chains) chain = all<double>(least);
  std::size_t i = 0;
  for (; i + together * kWide <= n; i += together * kWide) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < together; ++c) {
      chains[c] = smaller(chains[c], lost(i + c * kWide, Doubles{}));
    }
  }
  for (; i + kWide <= n; i += kWide) chains[0] = smaller(chains[0], lost(i, Doubles{}));
  for (; i < n; ++i) least = smaller(least, lost(i, double{}));
  const Doubles both = smaller(smaller(chains[0], chains[1]), smaller(chains[2], chains[3]));
  for (std::size_t j = 0; j < kWide; ++j) least = smaller(least, both[static_cast<int>(j)]);
  return least;
}

// Most of the time it is in none of a group: one look for all of them.
std::size_t find(const double* numbers, std::size_t from, std::size_t n, double number) {
  constexpr std::size_t together = 4;
  const Doubles wanted = all<double>(number);
  std::size_t i = from;
  for (; i + together * kWide <= n; i += together * kWide) {
    const auto same = [&](std::size_t v) {
      return read<Doubles>(numbers + i + v * kWide) == wanted;
    };
    if (!any((same(0) | same(1)) | (same(2) | same(3)))) continue;
    std::uint32_t places = 0;
#pragma GCC unroll 4
    for (std::size_t v = 0; v < together; ++v) places |= lanes(same(v)) << (v * kWide);
    return i + static_cast<std::size_t>(__builtin_ctz(places));
  }
  while (i < n && numbers[i] != number) ++i;
  return i;
}

}  // namespace

extern const CoefFunctions<float> BUDGETRON_CONCAT(coef_functions_float_, BUDGETRON_ISA);
extern const CoefFunctions<double> BUDGETRON_CONCAT(coef_functions_double_, BUDGETRON_ISA);
const CoefFunctions<float> BUDGETRON_CONCAT(coef_functions_float_, BUDGETRON_ISA) = {
    sizes,       losses<float>, find,           first_least<std::int64_t>, alike, sum_weights,
    sum_chances, grow,          grow_by_chances};
const CoefFunctions<double> BUDGETRON_CONCAT(coef_functions_double_, BUDGETRON_ISA) = {
    sizes,       losses<double>, find,           first_least<std::int64_t>, alike, sum_weights,
    sum_chances, grow,           grow_by_chances};

}  // namespace budgetron
