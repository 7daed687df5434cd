// The example that contributes least to f: the least ||a_i k(x_i, .)|| = |a_i| sqrt(k_ii), the
// oldest if several are equal (Wang, Crammer & Vucetic 2012). O(B K).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hypothesis/expansion.hpp"

namespace budgetron {

// Weights that differ by less count as equal: projecting leaves rounding errors in coefs that it
// should not change.
inline constexpr double kSameWeight = 1e-10;

// Scratch for `lightest`.
struct Weights {
  std::vector<double> numbers;        // |a_i| sqrt(k_ii)
  std::vector<std::uint32_t> places;  // of the equal ones

  void reserve(std::size_t count) {
    numbers.reserve(count);
    places.reserve(count);
  }
  void visit_state(StateVisitor& visitor) {
    visitor.scratch(numbers);
    visitor.scratch(places);
  }
};

// Among the stored examples and the new one (x, coefs), which is the youngest and has number
// f.size().
template <class Real>
std::size_t lightest(const Expansion<Real>& f, const Turn<Real>& turn,
                     std::span<const double> coefs, Weights& weights) {
  const auto& functions = row_functions<Real>();
  const std::size_t size = f.size();
  f.coef_sizes(weights.numbers);
  double* const numbers = weights.numbers.data();
  if (!f.kernel().isotropic()) {
    for (std::size_t i = 0; i < size; ++i) numbers[i] *= std::sqrt(f.stored_self(i));
  }
  // That of the new example.
  double least = std::sqrt(f.inner(coefs, coefs)) * std::sqrt(turn.self);
  if (size > 0) least = std::min(least, functions.least(numbers, size));
  weights.places.resize(size);
  const std::size_t tied =
      functions.at_most(numbers, size, least * (1.0 + kSameWeight), weights.places.data());
  std::size_t found = size;
  for (std::size_t t = 0; t < tied; ++t) {
    const std::size_t i = weights.places[t];
    if (found == size || f.id(i) < f.id(found)) found = i;
  }
  return found;
}

// Among the stored examples only.
template <class Real>
std::size_t lightest(const Expansion<Real>& f) {
  return f.least([&](std::size_t i) { return f.coef_size(i) * std::sqrt(f.stored_self(i)); });
}

}  // namespace budgetron
