#include "support.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace budgetron {
namespace {

// The Laplacian sums |v - s| over features nobody stored too: they read this slot of zeros.
constexpr std::uint32_t kZeroSlot = 0;

}  // namespace

template <class Real>
Real Support<Real>::norm_of(const Sample<Real>& x) const {
  const auto& functions = row_functions<Real>();
  return l1_ ? functions.absolute_norm(x.values, x.count)
             : functions.squared_norm(x.values, x.count);
}

// The end of storing x.
template <class Real>
void Support<Real>::set_norms(std::size_t i, const Sample<Real>& x) {
  mark(i);
  norms_[i] = norm_of(x);
  largest_norm_ = std::max(largest_norm_, static_cast<double>(norms_[i]));
  if (columns_.bytes()) {
    byte_norms_[i] = static_cast<std::uint8_t>(std::min(norms_[i], Real(255)));
  }
  if (keeps_squares_) {
    squared_norms_[i] = row_functions<Real>().squared_norm(x.values, x.count);
  }
}

template <class Real>
void Support<Real>::gather(const Sample<Real>& x, Row<Real>& row) const {
  if (room_.given() && !l1_ && !room_.all()) {
    row.norm = norm_of(x);
    row.term_values.clear();
    row.term_slots.clear();
    for (std::size_t k = 0; k < x.count; ++k) {
      const std::uint32_t slot = slots_.find(x.feature(k));
      if (x.values[k] == Real(0) || slot == Slots::kNone) continue;
      row.term_values.push_back(x.values[k]);
      row.term_slots.push_back(slot);
    }
    return;
  }
  row.term_values.resize(x.count);
  row.term_slots.resize(x.count);
  std::size_t terms = 0;
  if (x.dense() && !l1_ && x.count <= slots_.direct().size()) {
    terms = row_functions<Real>().gather(x.values, slots_.direct().data(), x.count,
                                         row.term_values.data(), row.term_slots.data(), &row.norm);
    row.term_values.resize(terms);
    row.term_slots.resize(terms);
    return;
  }
  row.norm = norm_of(x);
  Real* const values = row.term_values.data();
  std::uint32_t* const slots = row.term_slots.data();
  std::size_t k = 0;
  if (l1_ || x.dense() || room_.given()) {
    for (; k < x.count; ++k) {
      std::uint32_t slot = find(x.feature(k));
      if (l1_ && slot == Slots::kNone) slot = kZeroSlot;
      values[terms] = x.values[k];
      slots[terms] = slot;
      terms += (x.values[k] != Real(0)) & (slot != Slots::kNone);
    }
  } else {
    const std::span<const std::uint32_t> direct(slots_.direct());
    for (; k < x.count && !in_bucket(x.indices[k]); ++k) {
      const auto feature = static_cast<std::size_t>(x.indices[k]);
      const std::uint32_t slot = feature < direct.size() ? direct[feature] : Slots::kNone;
      values[terms] = x.values[k];
      slots[terms] = slot;
      terms += (x.values[k] != Real(0)) & (slot != Slots::kNone);
    }
  }
  terms = gather_from_buckets(x, k, row, terms);
  row.term_values.resize(terms);
  row.term_slots.resize(terms);
}

// The terms from x's feature k on, all of them to be looked for in buckets. First the buckets are
// read, so that nothing waits for their memory nor guesses which are empty; then what is in the
// others.
template <class Real>
std::size_t Support<Real>::gather_from_buckets(const Sample<Real>& x, std::size_t k, Row<Real>& row,
                                               std::size_t terms) const {
  constexpr std::size_t together = 64;
  std::uint32_t links[together];
  std::size_t places[together];
  if (postings_.none_in_buckets()) return terms;
  while (k < x.count) {
    const std::size_t end = std::min(k + together, x.count);
    std::size_t found = 0;
    for (; k < end; ++k) {
      const Bucket& bucket = postings_.bucket(x.feature(k));
      links[found] = bucket.first;
      places[found] = k;
      found += (bucket.marks & postings_.mark(x.feature(k))) != 0;
    }
    for (std::size_t c = 0; c < found; ++c) __builtin_prefetch(&postings_[links[c]]);
    for (std::size_t c = 0; c < found; ++c) {
      const std::uint32_t link = postings_.seek(links[c], x.feature(places[c]));
      row.term_values[terms] = x.values[places[c]];
      row.term_slots[terms] = postings_.slot_or_link(link);
      terms += (link != kNoSlot) & (x.values[places[c]] != Real(0));
    }
  }
  return terms;
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

template <class Real>
std::size_t Support<Real>::thin_features() const {
  if (thin_ == 0) return 0;
  std::size_t features = postings_.thin_in_buckets();
  for (const std::uint32_t slot : slots_.direct()) {
    features += slot != Slots::kNone && (slot & kThin) != 0;
  }
  return features;
}

template <class Real>
std::uint32_t Support<Real>::new_slot(std::int32_t feature) {
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(references_.size());
    references_.push_back(0);
    columns_.add_slot();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  if (in_bucket(feature)) {
    postings_.push_in_bucket(feature, kThin | slot, Real(0));
  } else {
    slots_.insert(feature, slot);
  }
  if (room_.given()) slot_features_[slot] = feature;
  slots_moved_ = ++clock_;
  return slot;
}

template <class Real>
void Support<Real>::add_posting(std::int32_t feature, std::size_t i, Real value) {
  const auto example = static_cast<std::uint32_t>(i);
  if (in_bucket(feature)) {
    postings_.push_in_bucket(feature, example, value);
  } else {
    postings_.push(slots_.direct_word(feature), feature, example, value);
  }
  ++thin_;
}

// A slot for a feature that was thin.
template <class Real>
std::uint32_t Support<Real>::fatten(std::int32_t feature) {
  const bool hashed = in_bucket(feature);
  std::uint32_t chain = hashed ? kNoSlot : slots_.direct_word(feature);
  const std::uint32_t slot = new_slot(feature);
  const auto take = [&](const Posting<Real>& posting) {
    columns_.set(slot, posting.example, posting.value);
    ++references_[slot];
    --thin_;
  };
  while (chain != kNoSlot) {
    take(postings_[chain]);
    postings_.pop(chain);
  }
  if (!hashed) return slot;
  for (std::uint32_t* link = &postings_.bucket(feature).first; *link != kNoSlot;) {
    Posting<Real>& posting = postings_[*link];
    if (posting.feature != feature || (posting.example & kThin) != 0) {
      link = &posting.next;
    } else {
      take(posting);
      postings_.pop_from_bucket(*link, feature);
    }
  }
  return slot;
}

template <class Real>
void Support<Real>::put(std::int32_t feature, std::size_t i, Real value, bool thin) {
  std::uint32_t slot = find(feature);
  if (slot == Slots::kNone && !thin) {
    slot = new_slot(feature);
  } else if ((slot & kThin) != 0) {
    const bool few = slot == Slots::kNone || (thin && kThinShare * postings_.count(slot) < stride_);
    if (few) return add_posting(feature, i, value);
    slot = fatten(feature);
  }
  ++references_[slot];
  columns_.set(slot, i, value);
}

// Example i no longer has this slot; true if nobody has.
template <class Real>
bool Support<Real>::give_up(std::uint32_t slot, std::size_t i) {
  columns_.set(slot, i, Real(0));
  if (--references_[slot] > 0) return false;
  free_.push_back(slot);
  slots_moved_ = ++clock_;
  return true;
}

template <class Real>
void Support<Real>::drop(std::int32_t feature, std::size_t i) {
  if (room_.given()) {
    if (give_up(slots_.find(feature), i)) slots_.erase(feature);
    return;
  }
  if (in_bucket(feature)) return drop_from_buckets({&feature, 1}, i);
  std::uint32_t& word = slots_.direct_word(feature);
  if ((word & kThin) == 0) {
    if (give_up(word, i)) word = Slots::kNone;
  } else {
    postings_.pop(postings_.link_to(word, feature, static_cast<std::uint32_t>(i)));
    --thin_;
  }
}

template <class Real>
void Support<Real>::drop_from_buckets(std::span<const std::int32_t> features, std::size_t i) {
  thin_ -= postings_.pop_all(features, static_cast<std::uint32_t>(i),
                             [&](std::uint32_t slot) { return give_up(slot, i); });
}

template <class Real>
void Support<Real>::move(std::int32_t feature, std::size_t i, std::size_t to) {
  std::uint32_t slot = find(feature);
  if ((slot & kThin) != 0) {
    while (postings_[slot].example != i) slot = postings_.seek(postings_[slot].next, feature);
    postings_[slot].example = static_cast<std::uint32_t>(to);
    return;
  }
  columns_.set(slot, to, columns_.at(slot, i));
  columns_.set(slot, i, Real(0));
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
      missing += (find(x.feature(k)) & kThin) != 0;  // without a slot, or thin
    }
    missing -= std::min(missing, free_.size());
    if (missing > 0) columns_.reserve_slots(references_.size() + missing);
    widths_[i] = static_cast<std::int32_t>(x.count);
    for (std::size_t k = 0; k < x.count; ++k) {
      put(x.feature(k), i, x.values[k], false);
    }
  } else {
    widths_[i] = kSparse;
    occupy_sparse(i, x);
  }
  set_norms(i, x);
}

template <class Real>
void Support<Real>::occupy_sparse(std::size_t i, const Sample<Real>& x) {
  const bool thin = may_be_thin();
  if (!room_.given()) features_[i].resize(x.count);
  std::size_t listed = 0;
  for (std::size_t k = 0; k < x.count; ++k) {
    const Real value = x.values[k];
    const std::int32_t feature = x.feature(k);
    if (value == Real(0)) continue;
    if (!room_.given()) features_[i][listed++] = feature;
    if (thin && in_bucket(feature) && postings_.surely_new(feature)) {
      postings_.push_in_bucket(feature, static_cast<std::uint32_t>(i), value);
      ++thin_;
    } else {
      put(feature, i, value, thin);
    }
  }
  if (!room_.given()) features_[i].resize(listed);
}

template <class Real>
void Support<Real>::vacate(std::size_t i) {
  if (widths_[i] == kSparse && !room_.given()) {
    const std::span<const std::int32_t> features(features_[i]);
    std::size_t k = 0;
    for (; k < features.size() && !in_bucket(features[k]); ++k) drop(features[k], i);
    drop_from_buckets(features.subspan(k), i);
  } else {
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
      columns_.set(find(x.feature(k)), i, x.values[k]);
    }
    set_norms(i, x);
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
    mark(i);
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
      out.values.push_back(columns_.at(find(feature), i));
    }
    return;
  }
  for_each_feature(i, out.indices, [&](std::int32_t feature) {
    out.values.push_back(value(find(feature), i));
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
    postings_.scratch(visitor);
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
  static constexpr std::int32_t none = 0;  // a sparse example without values still has indices
  std::size_t value_at = 0;
  std::size_t index_at = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto end = static_cast<std::size_t>(ends[i]);
    require(end >= value_at && end <= values.size(), "support");
    const std::size_t count = end - value_at;
    const std::int32_t* features = nullptr;
    if (widths[i] == kSparse) {
      features = indices.empty() ? &none : indices.data() + index_at;
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
  std::size_t entries = 0;     // of thin features
  std::size_t in_buckets = 0;  // slots that are found there
  OwnedSample<Real> sample;
  for (std::size_t i = 0; i < size_; ++i) {
    for_each_feature(i, listed, [&](std::int32_t feature) {
      const std::uint32_t slot = find(feature);
      if (slot == Slots::kNone) fail("a stored feature has no slot");
      if ((slot & kThin) != 0) {
        if (value(slot, i) == Real(0)) fail("a thin feature lacks a value");
        ++entries;
        return;
      }
      in_buckets += in_bucket(feature) && references[slot] == 0;
      ++references[slot];
      stored += columns_.at(slot, i) != Real(0);
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
  if (entries != thin_) fail("a thin feature has a value of no example");
  if (entries + in_buckets + postings_.unused() != postings_.size()) fail("a posting was lost");
  if (columns_.nonzeros() != stored) fail("a padding or absent value is not zero");
  for (std::size_t i = size_; i < stride_; ++i) {
    if (norms_[i] != Real(0)) fail("a padding norm is not zero");
  }
}

template class Support<float>;
template class Support<double>;

}  // namespace budgetron
