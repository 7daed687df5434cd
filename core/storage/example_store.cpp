#include "storage/example_store.hpp"

#include <stdexcept>

#include "storage/dense_store.hpp"
#include "storage/limited_store.hpp"

namespace budgetron {

template <class Real>
std::unique_ptr<ExampleStore<Real>> make_store(bool dense, bool l1, const ByteLimit& limit) {
  if (limit.given() ? limit.all() : dense) return std::make_unique<DenseStore<Real>>(l1, limit);
  if (limit.given()) return std::make_unique<LimitedStore<Real>>(l1, limit);
  return std::make_unique<SparseStore<Real>>(l1);
}

// The stride is set last: if memory runs out before, no column is claimed that is not there.
template <class Real>
void ExampleStore<Real>::set_stride(std::size_t stride) {
  for (Norms& norms : norms_) norms.values.resize(stride, Real(0));
  changed_.resize(stride / kLanes, 0);
  set_columns(stride);
  columns_.set_columns(stride, size_);
  slots_moved_ = ++clock_;
  stride_ = stride;
  columns_.reserve_slots(most_values() + first_slot_);
}

template <class Real>
void ExampleStore<Real>::remove(std::size_t i) {
  const std::size_t last = --size_;
  erase(i);
  if (i != last) {
    move(last, i);
    record_change(i, nullptr);
  }
  for (Norms& norms : norms_) {
    norms.values[i] = norms.values[last];
    norms.values[last] = Real(0);
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
    for (const Norms& norms : norms_) {
      check(norms.of(x) == norms.values[i], "a norm is stale");
    }
    for (std::size_t k = 0; k < x.count; ++k) {
      in_columns += x.values[k] != Real(0) && stored(x.feature(k)).slot != kNoSlot;
    }
  }
  check(columns_.nonzeros() == in_columns, "a padding or absent value is not zero");
  for (std::size_t i = size_; i < stride_; ++i) {
    check(norms()[i] == Real(0), "a padding norm is not zero");
  }
  const std::string broken = broken_invariant();
  check(broken.empty(), broken);
}

template class ExampleStore<float>;
template class ExampleStore<double>;
template std::unique_ptr<ExampleStore<float>> make_store(bool, bool, const ByteLimit&);
template std::unique_ptr<ExampleStore<double>> make_store(bool, bool, const ByteLimit&);

}  // namespace budgetron
