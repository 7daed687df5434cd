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

// ---- looking up --------------------------------------------------------------------------------

template <class Real>
Real ExampleStore<Real>::norm_of(const Sample<Real>& x) const {
  const auto& functions = row_functions<Real>();
  return l1_ ? functions.absolute_norm(x.values, x.count)
             : functions.squared_norm(x.values, x.count);
}

template <class Real>
std::size_t ExampleStore<Real>::features() const {
  std::vector<std::int32_t> features;
  OwnedSample<Real> sample;
  for (std::size_t i = 0; i < size_; ++i) {
    extract(i, sample);
    for (std::size_t k = 0; k < sample.values.size(); ++k) {
      if (sample.values[k] != Real(0)) features.push_back(sample.view().feature(k));
    }
  }
  std::sort(features.begin(), features.end());
  return static_cast<std::size_t>(std::unique(features.begin(), features.end()) - features.begin());
}

// Adds examples in their order, as if one by one. The columns are interleaved, so that no sum waits
// for its last term.
template <class Real>
void ExampleStore<Real>::add_weighed(std::span<const double> weights,
                                     std::span<double> sums) const {
  constexpr std::size_t together = 8;
  std::size_t features[together];
  std::size_t starts[together];
  std::size_t count = 0;
  const auto add = [&](const auto* values) {
    double parts[together] = {};
    for (std::size_t c = 0; c < count; ++c) parts[c] = sums[features[c]];
    for (std::size_t c = count; c < together; ++c) starts[c] = starts[0];
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t c = 0; c < together; ++c) {
        parts[c] += weights[i] * static_cast<double>(values[starts[c] + i]);
      }
    }
    for (std::size_t c = 0; c < count; ++c) sums[features[c]] = parts[c];
    count = 0;
  };
  const auto flush = [&] { columns_.with_values([&](auto& values) { add(values.data()); }); };
  for (std::size_t j = 0; j < sums.size(); ++j) {
    const std::uint32_t slot = stored(static_cast<std::int32_t>(j)).slot;
    if (slot == kNoSlot) continue;
    features[count] = j;
    starts[count++] = slot * columns_.stride();
    if (count == together) flush();
  }
  if (count > 0) flush();
  add_posted(weights, sums);
}

// ---- storing -----------------------------------------------------------------------------------

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
void ExampleStore<Real>::reserve(std::size_t examples) {
  if (padded(examples) > stride_) set_stride(padded(examples));
}

template <class Real>
void ExampleStore<Real>::set_norms(std::size_t i, const Sample<Real>& x, Real norm) {
  record_change(i, x.values);
  norms_[i] = norm;
  largest_norm_ = std::max(largest_norm_, static_cast<double>(norm));
  if (keeps_squares_) {
    squared_norms_[i] = row_functions<Real>().squared_norm(x.values, x.count);
  }
}

template <class Real>
void ExampleStore<Real>::append(const Sample<Real>& x) {
  if (size_ == stride_) reserve(std::max<std::size_t>(kLanes, 2 * stride_));
  set_norms(size_, x, write(size_, x));
  ++size_;
}

template <class Real>
void ExampleStore<Real>::replace(std::size_t i, const Sample<Real>& x) {
  set_norms(i, x, overwrite(i, x));
}

template <class Real>
void ExampleStore<Real>::remove(std::size_t i) {
  const std::size_t last = --size_;
  erase(i);
  if (i != last) {
    move(last, i);
    record_change(i, nullptr);
    norms_[i] = norms_[last];
    if (keeps_squares_) squared_norms_[i] = squared_norms_[last];
  }
  norms_[last] = Real(0);
  if (keeps_squares_) squared_norms_[last] = Real(0);
}

// ---- state and invariants ----------------------------------------------------------------------

template <class Real>
void SavedExamples<Real>::visit_state(StateVisitor& visitor) {
  visitor.field("largest_norm", largest_norm);
  visitor.field("ends", ends);
  visitor.field("widths", widths);
  visitor.field("indices", indices);
  visitor.field("values", values);
}

template <class Real>
SavedExamples<Real> ExampleStore<Real>::save() const {
  SavedExamples<Real> saved;
  saved.largest_norm = largest_norm_;
  OwnedSample<Real> sample;
  for (std::size_t i = 0; i < size_; ++i) {
    extract(i, sample);
    const auto width = static_cast<std::int32_t>(sample.values.size());
    saved.widths.push_back(sample.dense ? width : SavedExamples<Real>::kSparse);
    saved.values.insert(saved.values.end(), sample.values.begin(), sample.values.end());
    saved.indices.insert(saved.indices.end(), sample.indices.begin(), sample.indices.end());
    saved.ends.push_back(static_cast<std::int64_t>(saved.values.size()));
  }
  return saved;
}

template <class Real>
void ExampleStore<Real>::load(const SavedExamples<Real>& saved) {
  const std::vector<std::int32_t>& indices = saved.indices;
  require(saved.ends.size() == saved.widths.size() && all_finite(saved.values) &&
              saved.largest_norm >= 0.0,
          "support");
  reserve(saved.ends.size());
  std::size_t value_at = 0;
  std::size_t index_at = 0;
  for (std::size_t i = 0; i < saved.ends.size(); ++i) {
    const auto end = static_cast<std::size_t>(saved.ends[i]);
    require(end >= value_at && end <= saved.values.size(), "support");
    Sample<Real> x{saved.values.data() + value_at, nullptr, end - value_at};
    if (saved.widths[i] == SavedExamples<Real>::kSparse) {
      x.indices = indices.empty() ? &kNoIndices : indices.data() + index_at;
      require(x.count <= indices.size() - index_at && strictly_increasing(x.indices, x.count),
              "support");
      index_at += x.count;
    } else {
      require(saved.widths[i] >= 0 && static_cast<std::size_t>(saved.widths[i]) == x.count,
              "support");
    }
    require(loadable(x), "support");
    append(x);
    value_at = end;
  }
  require(value_at == saved.values.size() && index_at == indices.size(), "support");
  largest_norm_ = saved.largest_norm;
}

template <class Real>
bool ExampleStore<Real>::loadable(const Sample<Real>& x) const {
  if (!limit_.given()) return true;
  const bool in_width =
      x.count == 0 || static_cast<std::size_t>(x.feature(x.count - 1)) < limit_.width;
  return size_ < stride_ && in_width && fits(x);
}

template <class Real>
void ExampleStore<Real>::count_bytes(StateVisitor& visitor) const {
  columns_.scratch(visitor);
  visitor.scratch(norms_);
  visitor.scratch(squared_norms_);
  visitor.scratch(changed_);
}

template <class Real>
void ExampleStore<Real>::check_invariants() const {
  const auto fail = [](const std::string& what) {
    throw std::logic_error("support invariant broken: " + what);
  };
  OwnedSample<Real> sample;
  std::size_t in_columns = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    extract(i, sample);
    const Sample<Real> x = sample.view();
    if (norm_of(x) != norms_[i]) fail("a norm is stale");
    if (keeps_squares_ &&
        squared_norms_[i] != row_functions<Real>().squared_norm(x.values, x.count)) {
      fail("a squared norm is stale");
    }
    for (std::size_t k = 0; k < x.count; ++k) {
      in_columns += x.values[k] != Real(0) && stored(x.feature(k)).slot != kNoSlot;
    }
  }
  if (columns_.nonzeros() != in_columns) fail("a padding or absent value is not zero");
  for (std::size_t i = size_; i < stride_; ++i) {
    if (norms_[i] != Real(0)) fail("a padding norm is not zero");
  }
  const std::string broken = broken_invariant();
  if (!broken.empty()) fail(broken);
}

template struct SavedExamples<float>;
template struct SavedExamples<double>;
template class ExampleStore<float>;
template class ExampleStore<double>;
template std::unique_ptr<ExampleStore<float>> make_store<float>(bool, bool);
template std::unique_ptr<ExampleStore<double>> make_store<double>(bool, bool);

}  // namespace budgetron
