// The stored examples as rows, in the form in which they are saved. A store of either layout can
// load what the other one saved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/state.hpp"
#include "storage/example_store.hpp"

namespace budgetron {

template <class Real>
struct SavedExamples {
  static constexpr std::int32_t kSparse = -1;

  double largest_norm = 0.0;
  std::vector<std::int64_t> ends;     // per example: the end of its values
  std::vector<std::int32_t> widths;   // per example: the number of its values if dense, or kSparse
  std::vector<std::int32_t> indices;  // of the sparse rows
  std::vector<Real> values;

  SavedExamples() = default;
  explicit SavedExamples(const ExampleStore<Real>& store) : largest_norm(store.largest_norm()) {
    OwnedSample<Real> sample;
    for (std::size_t i = 0; i < store.size(); ++i) {
      store.extract(i, sample);
      widths.push_back(sample.dense ? static_cast<std::int32_t>(sample.values.size()) : kSparse);
      values.insert(values.end(), sample.values.begin(), sample.values.end());
      indices.insert(indices.end(), sample.indices.begin(), sample.indices.end());
      ends.push_back(static_cast<std::int64_t>(values.size()));
    }
  }
  [[nodiscard]] bool dense() const { return std::ranges::count(widths, kSparse) == 0; }

  // Stores the examples in the same columns; slots may be numbered differently. Throws if they are
  // damaged or beyond the byte limit. Precondition: the store is empty.
  void load_into(ExampleStore<Real>& store) const {
    require(ends.size() == widths.size() && all_finite(values) && largest_norm >= 0.0, "support");
    store.reserve(ends.size());
    std::size_t value_at = 0;
    std::size_t index_at = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const auto end = static_cast<std::size_t>(ends[i]);
      require(end >= value_at && end <= values.size(), "support");
      Sample<Real> x{values.data() + value_at, nullptr, end - value_at};
      if (widths[i] == kSparse) {
        x.indices = indices.empty() ? &kNoIndices : indices.data() + index_at;
        require(x.count <= indices.size() - index_at && strictly_increasing(x.indices, x.count),
                "support");
        index_at += x.count;
      } else {
        require(widths[i] >= 0 && static_cast<std::size_t>(widths[i]) == x.count, "support");
      }
      require(within_limit(store, x), "support");
      store.append(x);
      value_at = end;
    }
    require(value_at == values.size() && index_at == indices.size(), "support");
    store.set_largest_norm(largest_norm);
  }
  void visit_state(StateVisitor& visitor) {
    visitor.field("largest_norm", largest_norm);
    visitor.field("ends", ends);
    visitor.field("widths", widths);
    visitor.field("indices", indices);
    visitor.field("values", values);
  }

 private:
  [[nodiscard]] static bool within_limit(const ExampleStore<Real>& store, const Sample<Real>& x) {
    if (!store.limit().given()) return true;
    return store.size() < store.stride() && x.reach() <= store.limit().width && store.fits(x);
  }
};

}  // namespace budgetron
