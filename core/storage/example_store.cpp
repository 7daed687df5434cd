#include "storage/example_store.hpp"

#include <stdexcept>

#include "storage/dense_store.hpp"
#include "storage/sparse_store.hpp"

namespace budgetron {

template <class Real>
std::unique_ptr<ExampleStore<Real>> make_store(bool dense, bool l1) {
  if (dense) return std::make_unique<DenseStore<Real>>(l1);
  return std::make_unique<SparseStore<Real>>(l1);
}

// Adds examples in their order, as if one by one. The columns are interleaved, so that no sum waits
// for its last term.
template <class Real>
void ExampleStore<Real>::add_weighed(std::span<const double> weights,
                                     std::span<double> sums) const {
  constexpr std::size_t together = 8;
  columns_.with_values([&](const auto& values) {
    for (std::size_t j = 0; j < sums.size();) {
      std::size_t features[together];
      std::size_t starts[together] = {};
      double parts[together] = {};
      std::size_t count = 0;
      for (; j < sums.size() && count < together; ++j) {
        const std::uint32_t slot = stored(static_cast<std::int32_t>(j)).slot;
        if (slot == kNoSlot) continue;
        features[count] = j;
        parts[count] = sums[j];
        starts[count++] = slot * columns_.stride();
      }
      for (std::size_t i = 0; i < size_ && count > 0; ++i) {
        for (std::size_t c = 0; c < together; ++c) {
          parts[c] += weights[i] * static_cast<double>(values[starts[c] + i]);
        }
      }
      for (std::size_t c = 0; c < count; ++c) sums[features[c]] = parts[c];
    }
  });
  add_posted(weights, sums);
}

template <class Real>
void ExampleStore<Real>::set_stride(std::size_t stride) {
  stride_ = stride;
  norms_.resize(stride, Real(0));
  if (keeps_squares_) squared_norms_.resize(stride, Real(0));
  changed_.resize(stride / kLanes, 0);
  slots_moved_ = ++clock_;
  columns_.set_columns(stride, size_);
  columns_.reserve_slots(most_values() + first_slot_);
  if (columns_.slots() < first_slot_) columns_.add_slot();  // kZeroSlot
  set_columns();
}

template <class Real>
void ExampleStore<Real>::remove(std::size_t i) {
  const std::size_t last = --size_;
  erase(i);
  if (i != last) {
    move(last, i);
    record_change(i, nullptr);
  }
  for (AlignedVector<Real>* const norms : {&norms_, &squared_norms_}) {
    if (norms->empty()) continue;
    (*norms)[i] = (*norms)[last];
    (*norms)[last] = Real(0);
  }
}

template <class Real>
void ExampleStore<Real>::check_invariants() const {
  const auto check = [](bool holds, const std::string& what) {
    if (!holds) throw std::logic_error("support invariant broken: " + what);
  };
  OwnedSample<Real> sample;
  std::size_t in_columns = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    extract(i, sample);
    const Sample<Real> x = sample.view();
    check(norm_of(x) == norms_[i], "a norm is stale");
    check(!keeps_squares_ ||
              row_functions<Real>().squared_norm(x.values, x.count) == squared_norms_[i],
          "a squared norm is stale");
    for (std::size_t k = 0; k < x.count; ++k) {
      in_columns += x.values[k] != Real(0) && stored(x.feature(k)).slot != kNoSlot;
    }
  }
  check(columns_.nonzeros() == in_columns, "a padding or absent value is not zero");
  for (std::size_t i = size_; i < stride_; ++i) {
    check(norms_[i] == Real(0), "a padding norm is not zero");
  }
  const std::string broken = broken_invariant();
  check(broken.empty(), broken);
}

template class ExampleStore<float>;
template class ExampleStore<double>;
template std::unique_ptr<ExampleStore<float>> make_store<float>(bool, bool);
template std::unique_ptr<ExampleStore<double>> make_store<double>(bool, bool);

}  // namespace budgetron
