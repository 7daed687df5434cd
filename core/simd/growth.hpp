// How likely stored examples are to leave, and how the coefs of those that stay grow, in SIMD: see
// coef_ops.hpp.
//
// Included by coef_ops.cpp alone, and in an unnamed namespace, as vec.hpp is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/coef_ops.hpp"
#include "simd/numbers.hpp"

namespace budgetron {
namespace {

// Four numbers on every instruction set: the order of a block's sums.
typedef double Four __attribute__((vector_size(32)));

// {a0 + a1, b0 + b1, a2 + a3, b2 + b3}. GCC has the other builtin since 12 only.
inline Four pairs(Four a, Four b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
#else
  typedef std::int64_t Places __attribute__((vector_size(32)));
  return __builtin_shuffle(a, b, Places{0, 4, 2, 6}) + __builtin_shuffle(a, b, Places{1, 5, 3, 7});
#endif
}

// Running sums of what `number(i, kind)` says, at the ends of blocks; four numbers if `kind` is
// Four. Two blocks at a time are added up in the same vectors.
template <class Number>
inline double sum_blocks(std::size_t n, double* sums, Number number) {
  constexpr std::size_t block = CoefFunctions<double>::kBlock;
  const auto sum_fours = [=](std::size_t i) {
    Four four{};
#pragma GCC unroll 4
    for (std::size_t v = 0; v < block; v += 4) four = four + number(i + v, Four{});
    return four;
  };
  double total = 0.0;
  std::size_t i = 0;
  for (; i + 2 * block <= n; i += 2 * block) {
    const Four first = sum_fours(i);
    const Four second = sum_fours(i + block);
    const Four halves = pairs(first, second);
    *sums++ = total += halves[0] + halves[2];
    *sums++ = total += halves[1] + halves[3];
  }
  while (i < n) {
    const std::size_t end = n - i < block ? n : i + block;
    Four four{};
    for (; i + 4 <= end; i += 4) four = four + number(i, Four{});
    for (; i < end; ++i) four[0] += number(i, double{});
    *sums++ = total += (four[0] + four[1]) + (four[2] + four[3]);
  }
  return total;
}

template <class Numbers>
inline Numbers weight_of(const Chances& chances, std::size_t i) {
  return absolute(chances.factor * read<Numbers>(chances.weights + i));
}
template <class Numbers>
inline Numbers chance_of(const Chances& chances, Numbers weight) {
  const Numbers chance = 1.0 - chances.share * weight;
  if constexpr (sizeof(Numbers) == kBytes) {
    return (Numbers)larger((Doubles)chance, Doubles{});
  } else {
    return chance > 0.0 ? chance : Numbers{};
  }
}

bool alike(const double* numbers, std::size_t n) {
  constexpr std::size_t together = 4;
  const double first = absolute(numbers[0]);
  std::size_t i = 0;
  for (; i + together * kWide <= n; i += together * kWide) {
    const auto other = [&](std::size_t v) {
      return absolute(read<Doubles>(numbers + i + v * kWide)) != all<double>(first);
    };
    if (any((other(0) | other(1)) | (other(2) | other(3)))) return false;
  }
  while (i < n && absolute(numbers[i]) == first) ++i;
  return i == n;
}

// What `of` makes of each weight, added up; of weights that are alike it is one number.
template <class Of>
double sum_of_weights(const Chances& chances, std::size_t n, double* sums, Of of) {
  if (chances.alike) {
    const double number = of(weight_of<double>(chances, 0));
    return sum_blocks(n, sums, [=](std::size_t, auto kind) { return number - decltype(kind){}; });
  }
  return sum_blocks(
      n, sums, [=](std::size_t i, auto kind) { return of(weight_of<decltype(kind)>(chances, i)); });
}
double sum_weights(const Chances& chances, std::size_t n, double* sums) {
  return sum_of_weights(chances, n, sums, [](auto weight) { return weight; });
}
double sum_chances(const Chances& chances, std::size_t n, double* sums) {
  return sum_of_weights(chances, n, sums, [=](auto weight) { return chance_of(chances, weight); });
}

void grow(double* coefs, double growth, double limit, std::size_t n) {
  for_each(n, [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    const Numbers most = limit - Numbers{};
    const Numbers grown = growth * read<Numbers>(coefs + i);
    write(coefs + i, smaller(larger(grown, -most), most));
  });
}

// Coefs that are alike: one look for all of them.
void grow_alike(double* coefs, const Chances& chances, double total, double clip, double limit,
                std::size_t n) {
  const double rest = total - chances[0];
  if (weight_of<double>(chances, 0) * total > clip * rest) {
    for_each(n, [=](std::size_t i, auto kind) {
      using Numbers = decltype(kind);
      write(coefs + i, with_sign_of(read<Numbers>(coefs + i), limit - Numbers{}));
    });
  } else {
    grow(coefs, total / rest, __builtin_inf(), n);
  }
}

// Often all of a vector are at the clip, and need no division.
void grow_by_chances(double* coefs, double factor, const Chances& chances, double total,
                     double clip, double limit, std::size_t n) {
  if (chances.alike && chances.weights == coefs && chances.factor == factor) {
    return grow_alike(coefs, chances, total, clip, limit, n);
  }
  for_each(n, [=](std::size_t i, auto kind) {
    using Numbers = decltype(kind);
    const Numbers coef = read<Numbers>(coefs + i);
    const Numbers rest = total - chance_of(chances, weight_of<Numbers>(chances, i));
    const auto clipped = absolute(factor * coef) * total > clip * rest;
    const Numbers at_clip = with_sign_of(coef, limit - Numbers{});
    if (everywhere(clipped)) {
      write(coefs + i, at_clip);
    } else {
      write(coefs + i, clipped ? at_clip : coef * (total / rest));
    }
  });
}

}  // namespace
}  // namespace budgetron
