#include "storage/example_store.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace budgetron {

// ---- slots and lists ---------------------------------------------------------------------------

template <class Real>
std::uint32_t ExampleStore<Real>::new_slot(std::int32_t feature) {
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(references_.size());
    references_.push_back(0);
    columns_.add_slot();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  if (limit_.given()) slot_features_[slot] = feature;
  slots_moved_ = ++clock_;
  return slot;
}

template <class Real>
void ExampleStore<Real>::free_slot(std::uint32_t slot) {
  free_.push_back(slot);
  slots_moved_ = ++clock_;
}

// A slot instead of a list.
template <class Real>
void ExampleStore<Real>::list_to_slot(std::uint32_t& word, std::int32_t feature) {
  const std::uint32_t slot = new_slot(feature);
  for (const Posting<Real>& posting : lists_[word]) {
    columns_.set(slot, posting.example, posting.value);
    ++references_[slot];
    --listed_values_;
  }
  lists_.release(word);
  word = slot;
}

// A list instead of a slot.
template <class Real>
void ExampleStore<Real>::slot_to_list(std::uint32_t& word) {
  const std::uint32_t slot = word;
  word = kNoSlot;
  for (std::uint32_t i = 0; references_[slot] > 0; ++i) {
    const Real value = columns_.at(slot, i);
    if (value == Real(0)) continue;
    lists_.push(word, i, value);
    columns_.set(slot, i, Real(0));
    --references_[slot];
    ++listed_values_;
  }
  free_slot(slot);
}

template <class Real>
void ExampleStore<Real>::put(std::uint32_t& word, std::int32_t feature, std::size_t i, Real value,
                             bool list) {
  if ((word & kListFlag) != 0) {
    if (list && list_may_grow(word == kNoSlot ? 0 : lists_.count(word))) {
      lists_.push(word, static_cast<std::uint32_t>(i), value);
      ++listed_values_;
      return;
    }
    if (word == kNoSlot) {
      word = new_slot(feature);
    } else {
      list_to_slot(word, feature);
    }
  }
  ++references_[word];
  columns_.set(word, i, value);
}

template <class Real>
void ExampleStore<Real>::drop(std::uint32_t& word, std::size_t i, bool hashed) {
  if ((word & kListFlag) != 0) {
    lists_.pop(word, static_cast<std::uint32_t>(i));
    --listed_values_;
    return;
  }
  columns_.set(word, i, Real(0));
  const std::size_t left = --references_[word];
  if (left == 0) {
    free_slot(word);
    word = kNoSlot;
  } else if (hashed && may_list_again(left)) {
    slot_to_list(word);
  }
}

template <class Real>
void ExampleStore<Real>::reassign(std::uint32_t word, std::size_t i, std::size_t to) {
  if ((word & kListFlag) != 0) {
    lists_.find(word, static_cast<std::uint32_t>(i))->example = static_cast<std::uint32_t>(to);
  } else {
    columns_.set(word, to, columns_.at(word, i));
    columns_.set(word, i, Real(0));
  }
}

// ---- words in FeatureTable
// -----------------------------------------------------------------------

// The loops read local copies of pointers and sizes: a byte that is written may alias any of the
// originals, as far as the compiler knows.
template <class Real>
std::size_t ExampleStore<Real>::put_slots(std::size_t i, const Sample<Real>& x, std::size_t k) {
  const std::span<const std::uint32_t> words(slots_.direct());
  std::uint32_t* const references = references_.data();
  return columns_.of_example(i, [&, words, references](auto* column, std::size_t stride) {
    std::size_t at = k;
    for (; at < x.count; ++at) {
      const auto feature = static_cast<std::size_t>(x.indices[at]);
      const std::uint32_t word = feature < words.size() ? words[feature] : kNoSlot;
      if ((word & kListFlag) != 0 || x.values[at] == Real(0)) break;
      ++references[word];
      column[word * stride] = static_cast<std::remove_pointer_t<decltype(column)>>(x.values[at]);
    }
    return at;
  });
}

// Also stops at a feature whose only holder is example i: its slot has to be freed.
template <class Real>
std::size_t ExampleStore<Real>::drop_slots(std::size_t i, std::span<const std::int32_t> features,
                                           std::size_t k) {
  const std::span<const std::uint32_t> words(slots_.direct());
  std::uint32_t* const references = references_.data();
  return columns_.of_example(i, [=](auto* column, std::size_t stride) {
    std::size_t at = k;
    for (; at < features.size(); ++at) {
      const auto feature = static_cast<std::size_t>(features[at]);
      const std::uint32_t word = feature < words.size() ? words[feature] : kNoSlot;
      if ((word & kListFlag) != 0 || references[word] == 1) break;
      --references[word];
      column[word * stride] = 0;
    }
    return at;
  });
}

template <class Real>
void ExampleStore<Real>::put(std::int32_t feature, std::size_t i, Real value, bool list) {
  if (in_bucket(feature)) {
    buckets_.reserve_more(1);
    put_at(buckets_.find(feature), feature, i, value, list);
  } else if (!limit_.given()) {
    put(slots_.direct_word(feature), feature, i, value, list);
  } else {
    std::uint32_t slot = slots_.find(feature);
    const bool is_new = slot == kNoSlot;
    put(slot, feature, i, value, list);
    if (is_new) slots_.insert(feature, slot);
  }
}

template <class Real>
void ExampleStore<Real>::drop(std::int32_t feature, std::size_t i) {
  if (in_bucket(feature)) {
    drop_at(buckets_.find(feature), feature, i);
  } else if (!limit_.given()) {
    drop(slots_.direct_word(feature), i, false);
  } else {
    std::uint32_t slot = slots_.find(feature);
    drop(slot, i, false);
    if (slot == kNoSlot) slots_.erase(feature);
  }
}

template <class Real>
void ExampleStore<Real>::reassign(std::int32_t feature, std::size_t i, std::size_t to) {
  if (!in_bucket(feature)) return reassign(slots_.find(feature), i, to);
  const std::uint32_t place = buckets_.find(feature);
  if (buckets_.single(place)) {
    buckets_[place].example = static_cast<std::uint32_t>(to);
  } else {
    reassign(buckets_[place].example, i, to);
  }
}

// ---- words in BucketTable
// ------------------------------------------------------------------------

// `place` is the feature's, kNoPlace if it has none.
template <class Real>
void ExampleStore<Real>::put_at(std::uint32_t place, std::int32_t feature, std::size_t i,
                                Real value, bool list) {
  if (place == kNoPlace && list) {
    buckets_.insert(feature, true, {static_cast<std::uint32_t>(i), value});
    ++listed_values_;
    return;
  }
  if (place == kNoPlace) {
    place = buckets_.insert(feature, false, {kNoSlot, Real(0)});
  } else if (buckets_.single(place)) {
    const Posting<Real> only = buckets_[place];
    buckets_[place].example = kNoSlot;
    buckets_.set_single(place, false);
    lists_.push(buckets_[place].example, only.example, only.value);
  }
  put(buckets_[place].example, feature, i, value, list);
}

template <class Real>
void ExampleStore<Real>::drop_at(std::uint32_t place, std::int32_t feature, std::size_t i) {
  if (buckets_.single(place)) {
    buckets_.erase(place, feature);
    --listed_values_;
    return;
  }
  Posting<Real>& entry = buckets_[place];
  drop(entry.example, i, true);
  if (entry.example == kNoSlot) {
    buckets_.erase(place, feature);
  } else if ((entry.example & kListFlag) != 0 && lists_.count(entry.example) == 1) {
    std::uint32_t list = entry.example;
    entry = lists_[list].front();
    lists_.release(list);
    buckets_.set_single(place, true);
  }
}

// Prefetches the entries at these places of the hash table, and what their words lead to: the list,
// or example i's value in the slot.
template <class Real>
void ExampleStore<Real>::prefetch(std::span<const std::uint32_t> places, std::size_t i) const {
  for (const std::uint32_t place : places) {
    if (place != kNoPlace) __builtin_prefetch(&buckets_[place]);
  }
  for (const std::uint32_t place : places) {
    if (place == kNoPlace || buckets_.single(place)) continue;
    const std::uint32_t word = buckets_[place].example;
    if ((word & kListFlag) != 0) {
      __builtin_prefetch(lists_.address(word), 1);
    } else {
      columns_.prefetch(word, i);
    }
  }
}

// Stores the features of x from number k on, all large, in example i. Returns `norm` + their
// squares.
template <class Real>
Real ExampleStore<Real>::put_hashed(std::size_t i, const Sample<Real>& x, std::size_t k,
                                    Real norm) {
  std::uint32_t which[kBatch];
  std::uint32_t places[kBatch];
  buckets_.reserve_more(x.count - k);
  while (k < x.count) {
    const std::size_t count = std::min(kBatch, x.count - k);
    BucketTask<Real> work = buckets_.task({x.indices + k, count}, x.values + k, which, places);
    work.norm = norm;
    const std::size_t others = buckets_.insert(work, static_cast<std::uint32_t>(i));
    norm = work.norm;
    listed_values_ += count - others;
    prefetch({places, others}, i);
    for (std::size_t c = 0; c < others; ++c) {
      const std::size_t at = k + which[c];
      put_at(places[c], x.indices[at], i, x.values[at], true);
    }
    k += count;
  }
  return norm;
}

template <class Real>
void ExampleStore<Real>::drop_hashed(std::span<const std::int32_t> features, std::size_t i) {
  std::uint32_t which[kBatch];
  std::uint32_t places[kBatch];
  while (!features.empty()) {
    const auto some = features.first(std::min(kBatch, features.size()));
    BucketTask<Real> work = buckets_.task(some, nullptr, which, places);
    const std::size_t others = buckets_.erase(work);
    listed_values_ -= some.size() - others;
    prefetch({places, others}, i);
    for (std::size_t c = 0; c < others; ++c) drop_at(places[c], some[which[c]], i);
    features = features.subspan(some.size());
  }
}

// ---- norms and memory --------------------------------------------------------------------------

template <class Real>
Real ExampleStore<Real>::norm_of(const Sample<Real>& x) const {
  const auto& functions = row_functions<Real>();
  return l1_ ? functions.absolute_norm(x.values, x.count)
             : functions.squared_norm(x.values, x.count);
}

// The end of storing x.
template <class Real>
void ExampleStore<Real>::set_norms(std::size_t i, const Sample<Real>& x, Real norm) {
  record_change(i, x.values);
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
void ExampleStore<Real>::reserve(std::size_t examples) {
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
void ExampleStore<Real>::reserve_all(std::size_t examples, const ByteLimit& limit) {
  limit_ = limit;
  stride_ = padded(examples);
  const std::size_t slots = limit.slots + (l1_ ? 1 : 0);
  columns_.widen();
  columns_.set_columns(stride_, 0);
  columns_.reserve_slots(slots);
  norms_.resize(stride_, Real(0));
  if (keeps_squares_) squared_norms_.resize(stride_, Real(0));
  widths_.resize(stride_, 0);
  changed_.resize(stride_ / kLanes, 0);
  slots_.reserve(limit.width, limit.slots);
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
std::size_t ExampleStore<Real>::listed_features() const {
  if (listed_values_ == 0) return 0;
  std::size_t features = 0;
  for (const std::uint32_t word : slots_.direct()) {
    features += word != kNoSlot && (word & kListFlag) != 0;
  }
  buckets_.for_each([&](std::int32_t, std::uint32_t place) {
    features += buckets_.single(place) || (buckets_[place].example & kListFlag) != 0;
  });
  return features;
}

template <class Real>
std::size_t ExampleStore<Real>::free_slots() const {
  return limit_.slots - features();
}

// How many slots x would take.
template <class Real>
std::size_t ExampleStore<Real>::slots_needed(const Sample<Real>& x) const {
  std::size_t count = 0;
  for (std::size_t k = 0; k < x.count; ++k) {
    count += x.values[k] != Real(0) && slots_.find(x.feature(k)) == kNoSlot;
  }
  return count;
}

template <class Real>
bool ExampleStore<Real>::fits(const Sample<Real>& x) const {
  return !limit_.given() || limit_.all() || slots_needed(x) <= free_slots();
}

template <class Real>
bool ExampleStore<Real>::fits_instead(std::size_t i, const Sample<Real>& x) const {
  if (fits(x)) return true;
  const auto alone = [&](std::uint32_t slot) {  // only example i has it
    return references_[slot] == 1 && columns_.at(slot, i) != Real(0);
  };
  std::size_t freed = 0;
  for (std::uint32_t slot = l1_ ? 1 : 0; slot < references_.size(); ++slot) freed += alone(slot);
  for (std::size_t k = 0; k < x.count; ++k) {
    const std::uint32_t slot = slots_.find(x.feature(k));
    freed -= x.values[k] != Real(0) && slot != kNoSlot && alone(slot);
  }
  return slots_needed(x) <= free_slots() + freed;
}

template <class Real>
bool ExampleStore<Real>::fits_alone(const Sample<Real>& x) const {
  if (!limit_.given() || limit_.all() || x.count <= limit_.slots) return true;
  const auto zeros = std::count(x.values, x.values + x.count, Real(0));
  return x.count - static_cast<std::size_t>(zeros) <= limit_.slots;
}

template <class Real>
void ExampleStore<Real>::list_features(std::size_t i, std::vector<std::int32_t>& out) const {
  out.clear();
  for (std::uint32_t slot = l1_ ? 1 : 0; slot < references_.size(); ++slot) {
    if (columns_.at(slot, i) != Real(0)) out.push_back(slot_features_[slot]);
  }
  std::sort(out.begin(), out.end());
}

// ---- storing examples ---------------------------------------------------------------------------

// Column i is all zeros and free.
template <class Real>
void ExampleStore<Real>::occupy(std::size_t i, const Sample<Real>& x) {
  if (columns_.bytes() && (whole(x) || !ValueColumns<Real>::bytes_hold(x.values, x.count))) {
    columns_.widen();
  }
  if (whole(x)) {
    // Exactly what is needed, in one piece: dense storage never holds more than it says.
    std::size_t missing = 0;
    for (std::size_t k = 0; k < x.count; ++k) {
      missing += stored(x.feature(k)).slot == kNoSlot;
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
Real ExampleStore<Real>::occupy_sparse(std::size_t i, const Sample<Real>& x) {
  const bool zeros = std::find(x.values, x.values + x.count, Real(0)) != x.values + x.count;
  const bool list = may_list();
  const bool together = list && !zeros;
  std::size_t k = 0;
  while (true) {
    if (list) k = put_slots(i, x, k);
    if (k == x.count || (together && in_bucket(x.feature(k)))) break;
    if (x.values[k] != Real(0)) put(x.feature(k), i, x.values[k], list);
    ++k;
  }
  if (!limit_.given()) {
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
  return put_hashed(i, x, k, norm_of({x.values, x.indices, k}));
}

template <class Real>
void ExampleStore<Real>::vacate(std::size_t i) {
  if (widths_[i] == kSparse && !limit_.given()) {
    const std::span<const std::int32_t> features(features_[i]);
    std::size_t k = 0;
    while (true) {
      k = drop_slots(i, features, k);
      if (k == features.size() || in_bucket(features[k])) break;
      drop(features[k++], i);
    }
    drop_hashed(features.subspan(k), i);
  } else {
    if (widths_[i] != kSparse) --dense_;
    for_each_feature(i, listed_, [&](std::int32_t feature) { drop(feature, i); });
  }
  norms_[i] = Real(0);
  if (keeps_squares_) squared_norms_[i] = Real(0);
  widths_[i] = 0;
  if (!limit_.given()) features_[i].clear();
}

template <class Real>
void ExampleStore<Real>::append(const Sample<Real>& x) {
  if (size_ == stride_) reserve(std::max<std::size_t>(kLanes, 2 * stride_));
  occupy(size_, x);
  ++size_;
}

template <class Real>
void ExampleStore<Real>::replace(std::size_t i, const Sample<Real>& x) {
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
void ExampleStore<Real>::remove(std::size_t i) {
  const std::size_t last = size_ - 1;
  vacate(i);
  if (i != last) {
    for_each_feature(last, listed_, [&](std::int32_t feature) { reassign(feature, last, i); });
    record_change(i, nullptr);
    norms_[i] = norms_[last];
    if (columns_.bytes()) byte_norms_[i] = byte_norms_[last];
    if (keeps_squares_) {
      squared_norms_[i] = squared_norms_[last];
      squared_norms_[last] = Real(0);
    }
    widths_[i] = widths_[last];
    if (!limit_.given()) features_[i].swap(features_[last]);
    norms_[last] = Real(0);
    widths_[last] = 0;
  }
  size_ = last;
}

template <class Real>
void ExampleStore<Real>::extract(std::size_t i, OwnedSample<Real>& out) const {
  out.dense = widths_[i] != kSparse;
  out.values.clear();
  out.indices.clear();
  if (!out.dense && limit_.given()) {
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

// Examples in their order, as if they were added one by one. Columns take turns, so that no sum
// waits for its last term.
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
  const auto flush = [&] { columns_.bytes() ? add(columns_.ones()) : add(columns_.reals()); };
  for (std::size_t j = 0; j < sums.size(); ++j) {
    const Stored where = stored(static_cast<std::int32_t>(j));
    if (where.slot != kNoSlot) {
      features[count] = j;
      starts[count++] = where.slot * columns_.stride();
      if (count == together) flush();
    } else if (!where.few.empty()) {
      for (std::size_t i = 0; i < size_; ++i) {
        sums[j] += weights[i] * static_cast<double>(value(where, i));
      }
    }
  }
  if (count > 0) flush();
}

// ---- state and invariants -----------------------------------------------------------------------

// For loaded rows, which are not checked yet.
template <class Real>
bool ExampleStore<Real>::in_width(const Sample<Real>& x) const {
  return x.count <= limit_.width &&
         (x.count == 0 || static_cast<std::size_t>(x.feature(x.count - 1)) < limit_.width);
}

// Saved as rows, example by example; loading stores them again in the same columns. Slots may be
// numbered differently afterwards, which changes no result.
template <class Real>
void ExampleStore<Real>::visit_state(StateVisitor& visitor) {
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
  const ByteLimit limit = limit_;
  const std::size_t stride = stride_;
  *this = ExampleStore(l1_);
  keeps_squares_ = squares;
  if (limit.given()) reserve_all(stride, limit);
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
    require(!limit_.given() || (size_ < stride_ && fits(x) && in_width(x)), "support");
    append(x);
    value_at = end;
  }
  require(value_at == values.size() && index_at == indices.size(), "support");
  largest_norm_ = largest_norm;
}

// Counts what all words lead to: slots, values in lists and single values, capacity of lists.
template <class Real>
auto ExampleStore<Real>::count_words() const -> Extent {
  Extent all;
  const auto look = [&](std::uint32_t word) {
    if ((word & kListFlag) == 0) {
      ++all.slots;
    } else {
      all.listed += lists_.count(word);
      all.capacity += lists_.capacity(word);
    }
  };
  for (const std::uint32_t word : slots_.direct()) {
    if (word != kNoSlot) look(word);
  }
  buckets_.for_each([&](std::int32_t, std::uint32_t place) {
    if (buckets_.single(place)) {
      ++all.listed;
    } else {
      look(buckets_[place].example);
    }
  });
  return all;
}

template <class Real>
void ExampleStore<Real>::check_invariants() const {
  const auto fail = [](const std::string& what) {
    throw std::logic_error("support invariant broken: " + what);
  };
  std::vector<std::int32_t> listed;
  std::vector<std::uint32_t> references(references_.size(), 0);
  if (l1_ && !references.empty()) references[kZeroSlot] = 1;
  std::size_t stored = 0;
  std::size_t dense = 0;
  std::size_t in_lists = 0;  // values in lists and single values
  OwnedSample<Real> sample;
  for (std::size_t i = 0; i < size_; ++i) {
    dense += widths_[i] != kSparse;
    for_each_feature(i, listed, [&](std::int32_t feature) {
      const Stored there = this->stored(feature);
      if (!there.anywhere()) fail("a stored feature has no slot");
      if (there.slot == kNoSlot) {
        if (value(there, i) == Real(0)) fail("a thin feature lacks a value");
        ++in_lists;
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
  if (in_lists != listed_values_) fail("a thin feature has a value of no example");
  if (dense != dense_) fail("dense examples");
  if (!buckets_.consistent()) fail("buckets");
  if (!limit_.given()) {
    const Extent words = count_words();
    const std::size_t zero = l1_ && !references_.empty() ? 1 : 0;
    if (words.slots + zero + free_.size() != references_.size()) fail("a slot was lost");
    if (words.listed != listed_values_) fail("a thin feature has a value too many");
    if (words.capacity + lists_.unused() != lists_.size()) fail("a list was lost");
  }
  if (columns_.nonzeros() != stored) fail("a padding or absent value is not zero");
  for (std::size_t i = size_; i < stride_; ++i) {
    if (norms_[i] != Real(0)) fail("a padding norm is not zero");
  }
}

template class ExampleStore<float>;
template class ExampleStore<double>;

}  // namespace budgetron
