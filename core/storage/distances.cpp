// Distances from differences, where norms are too large to tell rows apart.
//
//   ||x_i - x||^2 = ||x_i||^2 + ||x||^2 - 2 x_i.x     rounds by eps (||x_i||^2 + ||x||^2)
//                 = sum_j (x_ij - x_j)^2              rounds by eps ||x_i - x||^2
//
// The kernel row uses the first form: it is one multiply-add per value, and features that x lacks
// cost nothing. A column with an offset (temperatures in Kelvin, times in seconds since 1970) makes
// its rounding larger than the distances, and then the Gram matrix is no longer positive definite.
// There the second form is used (Expansion::row). ||x_i - x||_1 of the Laplacian kernel likewise.
//
// Terms are added in the order of the features, one sum per stored example, zeros included or not:
// the bits do not depend on the layout of rows or examples.
//
// Cost: O(features stored and of x) per stored example, a few times the row's.
#include <algorithm>
#include <cmath>

#include "storage/example_store.hpp"

namespace budgetron {

template <class Real>
template <class Term>
void ExampleStore<Real>::add_differences(const Sample<Real>& x, std::size_t first, std::size_t last,
                                         Real* sums, std::vector<std::int32_t>& listed,
                                         Term term) const {
  std::fill(sums, sums + (last - first), Real(0));
  last = std::min(last, size_);
  const std::vector<std::uint32_t>& direct = slots_.direct();
  if (direct_only()) {
    // Feature by feature, in all examples at once; at the end those that no example has.
    const auto alone = [&](Real value) {
      if (value == Real(0)) return;
      for (std::size_t i = first; i < last; ++i) sums[i - first] += term(value);
    };
    std::size_t k = 0;
    for (std::size_t j = 0; j < direct.size(); ++j) {
      const bool there = k < x.count && static_cast<std::size_t>(x.feature(k)) == j;
      const Real value = there ? x.values[k++] : Real(0);
      const std::uint32_t slot = direct[j];
      if (slot == kNoSlot) {
        alone(value);
      } else if (columns_.bytes()) {
        for (std::size_t i = first; i < last; ++i) {
          sums[i - first] += term(value - columns_.at(slot, i));
        }
      } else {
        const Real* const column = columns_.reals() + slot * columns_.stride();
        for (std::size_t i = first; i < last; ++i) sums[i - first] += term(value - column[i]);
      }
    }
    for (; k < x.count; ++k) alone(x.values[k]);
    return;
  }
  // Example by example: its features and those of x, in their order.
  for (std::size_t i = first; i < last; ++i) {
    Real sum(0);
    std::size_t k = 0;
    for_each_feature(i, listed, [&](std::int32_t feature) {
      for (; k < x.count && x.feature(k) < feature; ++k) sum += term(x.values[k]);
      const bool there = k < x.count && x.feature(k) == feature;
      const Real value = there ? x.values[k++] : Real(0);
      sum += term(value - this->value(stored(feature), i));
    });
    for (; k < x.count; ++k) sum += term(x.values[k]);
    sums[i - first] = sum;
  }
}

template <class Real>
void ExampleStore<Real>::squared_distances(const Sample<Real>& x, std::size_t first,
                                           std::size_t last, Real* sums,
                                           std::vector<std::int32_t>& listed) const {
  add_differences(x, first, last, sums, listed,
                  [](Real difference) { return difference * difference; });
}

template <class Real>
void ExampleStore<Real>::absolute_distances(const Sample<Real>& x, std::size_t first,
                                            std::size_t last, Real* sums,
                                            std::vector<std::int32_t>& listed) const {
  add_differences(x, first, last, sums, listed,
                  [](Real difference) { return std::abs(difference); });
}

template void ExampleStore<float>::squared_distances(const Sample<float>&, std::size_t, std::size_t,
                                                     float*, std::vector<std::int32_t>&) const;
template void ExampleStore<double>::squared_distances(const Sample<double>&, std::size_t,
                                                      std::size_t, double*,
                                                      std::vector<std::int32_t>&) const;
template void ExampleStore<float>::absolute_distances(const Sample<float>&, std::size_t,
                                                      std::size_t, float*,
                                                      std::vector<std::int32_t>&) const;
template void ExampleStore<double>::absolute_distances(const Sample<double>&, std::size_t,
                                                       std::size_t, double*,
                                                       std::vector<std::int32_t>&) const;

}  // namespace budgetron
