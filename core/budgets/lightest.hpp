// The example that matters least to f: the least ||a_i k(x_i, .)|| = |a_i| sqrt(k_ii), the oldest
// of the tied (Wang, Crammer & Vucetic 2012). O(B K).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "expansion.hpp"

namespace budgetron {

// Weights that differ by less are rounded versions of one: projecting leaves a trace of rounding in
// coefs it should not touch.
inline constexpr double kSameWeight = 1e-10;

// Among the stored examples and the newcomer (x, coefs), which is the youngest and is number
// f.size().
template <class Real>
std::size_t lightest(const Expansion<Real>& f, const Turn<Real>& turn,
                     std::span<const double> coefs) {
  const auto pick = [&](auto weight) {
    double least = std::sqrt(f.inner(coefs, coefs)) * std::sqrt(turn.self);  // the newcomer's
    for (std::size_t i = 0; i < f.size(); ++i) least = std::min(least, weight(i));
    const double tied = least * (1.0 + kSameWeight);
    std::size_t found = f.size();
    for (std::size_t i = 0; i < f.size(); ++i) {
      if (weight(i) <= tied && (found == f.size() || f.id(i) < f.id(found))) found = i;
    }
    return found;
  };
  if (f.outputs() == 1 && f.kernel().isotropic()) {
    return pick(
        [a = f.stored_coefs(0), by = f.factor()](std::size_t i) { return std::abs(by * a[i]); });
  }
  return pick([&](std::size_t i) { return f.coef_size(i) * std::sqrt(f.stored_self(i)); });
}

// Among the stored alone.
template <class Real>
std::size_t lightest(const Expansion<Real>& f) {
  return f.least([&](std::size_t i) { return f.coef_size(i) * std::sqrt(f.stored_self(i)); });
}

}  // namespace budgetron
