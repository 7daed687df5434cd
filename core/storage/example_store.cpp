#include "storage/example_store.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "storage/distances.hpp"
#include "storage/sparse_features.hpp"
#include "storage/sparse_gather.hpp"

namespace budgetron {

template <class Real>
Real Support<Real>::norm_of(const Sample<Real>& x) const {
  const auto& functions = row_functions<Real>();
  return l1_ ? functions.absolute_norm(x.values, x.count)
             : functions.squared_norm(x.values, x.count);
}

// The end of storing x.
template <class Real>
void Support<Real>::set_norms(std::size_t i, const Sample<Real>& x, Real norm) {
  mark(i, x.values);
  norms_[i] = norm;
  largest_norm_ = std::max(largest_norm_, static_cast<double>(norms_[i]));
  if (columns_.bytes()) {
    byte_norms_[i] = static_cast<std::uint8_t>(std::min(norms_[i], Real(255)));
  }
  if (keeps_squares_) {
    squared_norms_[i] = row_functions<Real>().squared_norm(x.values, x.count);
  }
}

template <class Real>
void Support<Real>::reserve(std::size_t examples) {
  const std::size_t stride = padded(examples);
  if (stride <= stride_) return;
  columns_.set_columns(stride, size_);
  norms_.resize(stride, Real(0));
  if (columns_.bytes()) byte_norms_.resize(columns_.stride(), 0);
  if (keeps_squares_) squared_norms_.resize(stride, Real(0));
  widths_.resize(stride, 0);
  features_.resize(stride);
  changed_.resize(stride / kLanes, 0);
  slots_moved_ = ++clock_;
  stride_ = stride;
  if (l1_ && references_.empty()) {
    references_.push_back(1);  // held for ever
    columns_.add_slot();
  }
}

template <class Real>
void Support<Real>::reserve_all(std::size_t examples, const Room& room) {
  room_ = room;
  stride_ = padded(examples);
  const std::size_t slots = room.slots + (l1_ ? 1 : 0);
  columns_.widen();
  columns_.set_columns(stride_, 0);
  columns_.reserve_slots(slots);
  norms_.resize(stride_, Real(0));
  if (keeps_squares_) squared_norms_.resize(stride_, Real(0));
  widths_.resize(stride_, 0);
  changed_.resize(stride_ / kLanes, 0);
  slots_.reserve(room.width, room.slots);
  references_.reserve(slots);
  free_.reserve(slots);
  slot_features_.resize(slots, -1);
  listed_.reserve(most_values());
  if (l1_) {
    references_.push_back(1);  // held for ever
    columns_.add_slot();
  }
}

template <class Real>
std::size_t Support<Real>::free_slots() const {
  return room_.slots - features();
}

// How many slots x would take.
template <class Real>
std::size_t Support<Real>::strangers(const Sample<Real>& x) const {
  std::size_t count = 0;
  for (std::size_t k = 0; k < x.count; ++k) {
    count += x.values[k] != Real(0) && slots_.find(x.feature(k)) == Slots::kNone;
  }
  return count;
}

template <class Real>
bool Support<Real>::fits(const Sample<Real>& x) const {
  return !room_.given() || room_.all() || strangers(x) <= free_slots();
}

template <class Real>
bool Support<Real>::fits_instead(std::size_t i, const Sample<Real>& x) const {
  if (fits(x)) return true;
  const auto alone = [&](std::uint32_t slot) {  // only example i has it
    return references_[slot] == 1 && columns_.at(slot, i) != Real(0);
  };
  std::size_t freed = 0;
  for (std::uint32_t slot = l1_ ? 1 : 0; slot < references_.size(); ++slot) freed += alone(slot);
  for (std::size_t k = 0; k < x.count; ++k) {
    const std::uint32_t slot = slots_.find(x.feature(k));
    freed -= x.values[k] != Real(0) && slot != Slots::kNone && alone(slot);
  }
  return strangers(x) <= free_slots() + freed;
}

template <class Real>
bool Support<Real>::fits_alone(const Sample<Real>& x) const {
  if (!room_.given() || room_.all() || x.count <= room_.slots) return true;
  const auto zeros = std::count(x.values, x.values + x.count, Real(0));
  return x.count - static_cast<std::size_t>(zeros) <= room_.slots;
}

template <class Real>
void Support<Real>::list_features(std::size_t i, std::vector<std::int32_t>& out) const {
  out.clear();
  for (std::uint32_t slot = l1_ ? 1 : 0; slot < references_.size(); ++slot) {
    if (columns_.at(slot, i) != Real(0)) out.push_back(slot_features_[slot]);
  }
  std::sort(out.begin(), out.end());
}

// Column i is all zeros and free.
template <class Real>
void Support<Real>::occupy(std::size_t i, const Sample<Real>& x) {
  if (columns_.bytes() && (whole(x) || !Columns<Real>::bytes_hold(x.values, x.count))) {
    columns_.widen();
  }
  if (whole(x)) {
    // Exactly what is needed, in one piece: dense storage never holds more than it says.
    std::size_t missing = 0;
    for (std::size_t k = 0; k < x.count; ++k) {
      missing += stored(x.feature(k)).slot == Slots::kNone;
    }
    missing -= std::min(missing, free_.size());
    if (missing > 0) columns_.reserve_slots(references_.size() + missing);
    widths_[i] = static_cast<std::int32_t>(x.count);
    ++dense_;
    for (std::size_t k = 0; k < x.count; ++k) {
      put(x.feature(k), i, x.values[k], false);
    }
    set_norms(i, x, norm_of(x));
  } else {
    widths_[i] = kSparse;
    set_norms(i, x, occupy_sparse(i, x));
  }
}

template <class Real>
Real Support<Real>::occupy_sparse(std::size_t i, const Sample<Real>& x) {
  const bool zeros = std::find(x.values, x.values + x.count, Real(0)) != x.values + x.count;
  const bool thin = may_be_thin();
  const bool together = thin && !zeros;
  std::size_t k = 0;
  while (true) {
    if (thin) k = put_slots(i, x, k);
    if (k == x.count || (together && in_bucket(x.feature(k)))) break;
    if (x.values[k] != Real(0)) put(x.feature(k), i, x.values[k], thin);
    ++k;
  }
  if (!room_.given()) {
    features_[i].clear();
    if (zeros) {
      for (std::size_t j = 0; j < x.count; ++j) {
        if (x.values[j] != Real(0)) features_[i].push_back(x.feature(j));
      }
    } else {
      features_[i].assign(x.indices, x.indices + x.count);
    }
  }
  if (!together) return norm_of(x);
  return put_in_buckets(i, x, k, norm_of({x.values, x.indices, k}));
}

template <class Real>
void Support<Real>::vacate(std::size_t i) {
  if (widths_[i] == kSparse && !room_.given()) {
    const std::span<const std::int32_t> features(features_[i]);
    std::size_t k = 0;
    while (true) {
      k = drop_slots(i, features, k);
      if (k == features.size() || in_bucket(features[k])) break;
      drop(features[k++], i);
    }
    drop_from_buckets(features.subspan(k), i);
  } else {
    if (widths_[i] != kSparse) --dense_;
    for_each_feature(i, listed_, [&](std::int32_t feature) { drop(feature, i); });
  }
  norms_[i] = Real(0);
  if (keeps_squares_) squared_norms_[i] = Real(0);
  widths_[i] = 0;
  if (!room_.given()) features_[i].clear();
}

template <class Real>
void Support<Real>::append(const Sample<Real>& x) {
  if (size_ == stride_) reserve(std::max<std::size_t>(kLanes, 2 * stride_));
  occupy(size_, x);
  ++size_;
}

template <class Real>
void Support<Real>::replace(std::size_t i, const Sample<Real>& x) {
  if (x.dense() && widths_[i] == static_cast<std::int32_t>(x.count)) {
    for (std::size_t k = 0; k < x.count; ++k) {
      columns_.set(stored(x.feature(k)).slot, i, x.values[k]);
    }
    set_norms(i, x, norm_of(x));
    return;
  }
  vacate(i);
  occupy(i, x);
}

template <class Real>
void Support<Real>::remove(std::size_t i) {
  const std::size_t last = size_ - 1;
  vacate(i);
  if (i != last) {
    for_each_feature(last, listed_, [&](std::int32_t feature) { move(feature, last, i); });
    mark(i, nullptr);
    norms_[i] = norms_[last];
    if (columns_.bytes()) byte_norms_[i] = byte_norms_[last];
    if (keeps_squares_) {
      squared_norms_[i] = squared_norms_[last];
      squared_norms_[last] = Real(0);
    }
    widths_[i] = widths_[last];
    if (!room_.given()) features_[i].swap(features_[last]);
    norms_[last] = Real(0);
    widths_[last] = 0;
  }
  size_ = last;
}

template <class Real>
void Support<Real>::extract(std::size_t i, OwnedSample<Real>& out) const {
  out.dense = widths_[i] != kSparse;
  out.values.clear();
  out.indices.clear();
  if (!out.dense && room_.given()) {
    list_features(i, out.indices);
    for (const std::int32_t feature : out.indices) {
      out.values.push_back(columns_.at(slots_.find(feature), i));
    }
    return;
  }
  for_each_feature(i, out.indices, [&](std::int32_t feature) {
    out.values.push_back(value(stored(feature), i));
    if (!out.dense) out.indices.push_back(feature);
  });
}

// Of loaded rows, which nobody has checked yet.
template <class Real>
bool Support<Real>::in_width(const Sample<Real>& x) const {
  return x.count <= room_.width &&
         (x.count == 0 || static_cast<std::size_t>(x.feature(x.count - 1)) < room_.width);
}

// Saved as rows, example by example; loading stores them again in the same columns. Slots may be
// numbered differently afterwards, which changes no result.
template <class Real>
void Support<Real>::visit_state(StateVisitor& visitor) {
  if (visitor.mode() == StateVisitor::Mode::count) {
    columns_.scratch(visitor);
    visitor.scratch(norms_);
    visitor.scratch(byte_norms_);
    visitor.scratch(squared_norms_);
    visitor.object(slots_.bytes());
    visitor.scratch(references_);
    visitor.scratch(free_);
    buckets_.scratch(visitor);
    lists_.scratch(visitor);
    visitor.scratch(widths_);
    visitor.scratch(changed_);
    visitor.scratch(features_);
    for (const auto& features : features_) visitor.scratch(features);
    visitor.scratch(slot_features_);
    visitor.scratch(listed_);
    return;
  }
  const bool loading = visitor.mode() == StateVisitor::Mode::load;
  std::vector<std::int64_t> ends;
  std::vector<std::int32_t> widths;
  std::vector<std::int32_t> indices;
  std::vector<Real> values;
  if (!loading) {
    OwnedSample<Real> sample;
    for (std::size_t i = 0; i < size_; ++i) {
      extract(i, sample);
      widths.push_back(widths_[i]);
      values.insert(values.end(), sample.values.begin(), sample.values.end());
      indices.insert(indices.end(), sample.indices.begin(), sample.indices.end());
      ends.push_back(static_cast<std::int64_t>(values.size()));
    }
  }
  visitor.field("largest_norm", largest_norm_);
  visitor.field("ends", ends);
  visitor.field("widths", widths);
  visitor.field("indices", indices);
  visitor.field("values", values);
  if (!loading) return;

  const double largest_norm = largest_norm_;
  const bool squares = keeps_squares_;
  const Room room = room_;
  const std::size_t stride = stride_;
  *this = Support(l1_);
  keeps_squares_ = squares;
  if (room.given()) reserve_all(stride, room);
  require(ends.size() == widths.size() && all_finite(values) && largest_norm >= 0.0, "support");
  reserve(ends.size());
  std::size_t value_at = 0;
  std::size_t index_at = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto end = static_cast<std::size_t>(ends[i]);
    require(end >= value_at && end <= values.size(), "support");
    const std::size_t count = end - value_at;
    const std::int32_t* features = nullptr;
    if (widths[i] == kSparse) {
      features = indices.empty() ? &kNoIndices : indices.data() + index_at;
      require(count <= indices.size() - index_at && strictly_increasing(features, count),
              "support");
      index_at += count;
    } else {
      require(widths[i] >= 0 && static_cast<std::size_t>(widths[i]) == count, "support");
    }
    const Sample<Real> x{values.data() + value_at, features, count};
    require(!room_.given() || (size_ < stride_ && fits(x) && in_width(x)), "support");
    append(x);
    value_at = end;
  }
  require(value_at == values.size() && index_at == indices.size(), "support");
  largest_norm_ = largest_norm;
}

template <class Real>
void Support<Real>::check_invariants() const {
  const auto fail = [](const std::string& what) {
    throw std::logic_error("support invariant broken: " + what);
  };
  std::vector<std::int32_t> listed;
  std::vector<std::uint32_t> references(references_.size(), 0);
  if (l1_ && !references.empty()) references[kZeroSlot] = 1;
  std::size_t stored = 0;
  std::size_t dense = 0;
  std::size_t few = 0;  // values of thin features
  OwnedSample<Real> sample;
  for (std::size_t i = 0; i < size_; ++i) {
    dense += widths_[i] != kSparse;
    for_each_feature(i, listed, [&](std::int32_t feature) {
      const Stored there = this->stored(feature);
      if (!there.anywhere()) fail("a stored feature has no slot");
      if (there.slot == Slots::kNone) {
        if (value(there, i) == Real(0)) fail("a thin feature lacks a value");
        ++few;
        return;
      }
      ++references[there.slot];
      stored += columns_.at(there.slot, i) != Real(0);
    });
    extract(i, sample);
    if (norm_of(sample.view()) != norms_[i]) fail("a norm is stale");
    const auto in_bytes = [&] { return static_cast<Real>(byte_norms_[i]); };
    if (columns_.bytes() && in_bytes() != std::min(norms_[i], Real(255))) {
      fail("a norm in bytes is stale");
    }
    const Sample<Real> x = sample.view();
    if (keeps_squares_ &&
        squared_norms_[i] != row_functions<Real>().squared_norm(x.values, x.count)) {
      fail("a squared norm is stale");
    }
  }
  if (references != references_) fail("references");
  if (few != thin_) fail("a thin feature has a value of no example");
  if (dense != dense_) fail("dense examples");
  if (!buckets_.consistent()) fail("buckets");
  if (!room_.given()) {
    const Extent words = lead_to();
    const std::size_t zero = l1_ && !references_.empty() ? 1 : 0;
    if (words.slots + zero + free_.size() != references_.size()) fail("a slot was lost");
    if (words.few != thin_) fail("a thin feature has a value too many");
    if (words.room + lists_.unused() != lists_.size()) fail("a list was lost");
  }
  if (columns_.nonzeros() != stored) fail("a padding or absent value is not zero");
  for (std::size_t i = size_; i < stride_; ++i) {
    if (norms_[i] != Real(0)) fail("a padding norm is not zero");
  }
}

template class Support<float>;
template class Support<double>;

}  // namespace budgetron
