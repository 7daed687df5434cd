// What the words of features say (example_store.hpp): slots, lists, and single values in buckets;
// and how a feature goes from one to the other as examples come and go.
//
// A part of example_store.cpp, which alone includes it.
#pragma once

#include <algorithm>

#include "storage/example_store.hpp"

namespace budgetron {

// ---- where a feature is ------------------------------------------------------------------------

template <class Real>
auto Support<Real>::stored_by(std::uint32_t word) const -> Stored {
  if (word == Slots::kNone) return {};
  if ((word & kThin) != 0) return {Slots::kNone, lists_[word]};
  return {word, {}};
}

template <class Real>
auto Support<Real>::stored_at(std::uint32_t place) const -> Stored {
  const Posting<Real>& entry = buckets_[place];
  if (buckets_.single(place)) return {Slots::kNone, {&entry, 1}};
  return stored_by(entry.example);
}

template <class Real>
auto Support<Real>::stored(std::int32_t feature) const -> Stored {
  if (!in_bucket(feature)) return stored_by(slots_.find(feature));
  const std::uint32_t place = buckets_.find(feature);
  return place == kNoSlot ? Stored{} : stored_at(place);
}

template <class Real>
std::size_t Support<Real>::thin_features() const {
  if (thin_ == 0) return 0;
  std::size_t features = 0;
  for (const std::uint32_t word : slots_.direct()) {
    features += word != Slots::kNone && (word & kThin) != 0;
  }
  buckets_.for_each([&](std::int32_t, std::uint32_t place) {
    features += buckets_.single(place) || (buckets_[place].example & kThin) != 0;
  });
  return features;
}

// ---- slots and lists ---------------------------------------------------------------------------

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
  if (room_.given()) slot_features_[slot] = feature;
  slots_moved_ = ++clock_;
  return slot;
}

template <class Real>
void Support<Real>::free_slot(std::uint32_t slot) {
  free_.push_back(slot);
  slots_moved_ = ++clock_;
}

// A slot instead of a list.
template <class Real>
void Support<Real>::fatten(std::uint32_t& word, std::int32_t feature) {
  const std::uint32_t slot = new_slot(feature);
  for (const Posting<Real>& posting : lists_[word]) {
    columns_.set(slot, posting.example, posting.value);
    ++references_[slot];
    --thin_;
  }
  lists_.release(word);
  word = slot;
}

// A list instead of a slot.
template <class Real>
void Support<Real>::thin_down(std::uint32_t& word) {
  const std::uint32_t slot = word;
  word = kNoSlot;
  for (std::uint32_t i = 0; references_[slot] > 0; ++i) {
    const Real value = columns_.at(slot, i);
    if (value == Real(0)) continue;
    lists_.push(word, i, value);
    columns_.set(slot, i, Real(0));
    --references_[slot];
    ++thin_;
  }
  free_slot(slot);
}

template <class Real>
void Support<Real>::put(std::uint32_t& word, std::int32_t feature, std::size_t i, Real value,
                        bool thin) {
  if ((word & kThin) != 0) {
    if (thin && few(word == Slots::kNone ? 0 : lists_.count(word))) {
      lists_.push(word, static_cast<std::uint32_t>(i), value);
      ++thin_;
      return;
    }
    if (word == Slots::kNone) {
      word = new_slot(feature);
    } else {
      fatten(word, feature);
    }
  }
  ++references_[word];
  columns_.set(word, i, value);
}

template <class Real>
void Support<Real>::drop(std::uint32_t& word, std::size_t i, bool hashed) {
  if ((word & kThin) != 0) {
    lists_.pop(word, static_cast<std::uint32_t>(i));
    --thin_;
    return;
  }
  columns_.set(word, i, Real(0));
  const std::size_t left = --references_[word];
  if (left == 0) {
    free_slot(word);
    word = Slots::kNone;
  } else if (hashed && too_few(left)) {
    thin_down(word);
  }
}

template <class Real>
void Support<Real>::move(std::uint32_t word, std::size_t i, std::size_t to) {
  if ((word & kThin) != 0) {
    lists_.find(word, static_cast<std::uint32_t>(i))->example = static_cast<std::uint32_t>(to);
  } else {
    columns_.set(word, to, columns_.at(word, i));
    columns_.set(word, i, Real(0));
  }
}

// ---- words in the table of slots ---------------------------------------------------------------

// What these loops read is named before them: to the compiler a byte that is written may be any of
// it.
template <class Real>
std::size_t Support<Real>::put_slots(std::size_t i, const Sample<Real>& x, std::size_t k) {
  const std::span<const std::uint32_t> words(slots_.direct());
  std::uint32_t* const references = references_.data();
  return columns_.of_example(i, [&, words, references](auto* column, std::size_t stride) {
    std::size_t at = k;
    for (; at < x.count; ++at) {
      const auto feature = static_cast<std::size_t>(x.indices[at]);
      const std::uint32_t word = feature < words.size() ? words[feature] : Slots::kNone;
      if ((word & kThin) != 0 || x.values[at] == Real(0)) break;
      ++references[word];
      column[word * stride] = static_cast<std::remove_pointer_t<decltype(column)>>(x.values[at]);
    }
    return at;
  });
}

// One that nobody else has is met too.
template <class Real>
std::size_t Support<Real>::drop_slots(std::size_t i, std::span<const std::int32_t> features,
                                      std::size_t k) {
  const std::span<const std::uint32_t> words(slots_.direct());
  std::uint32_t* const references = references_.data();
  return columns_.of_example(i, [=](auto* column, std::size_t stride) {
    std::size_t at = k;
    for (; at < features.size(); ++at) {
      const auto feature = static_cast<std::size_t>(features[at]);
      const std::uint32_t word = feature < words.size() ? words[feature] : Slots::kNone;
      if ((word & kThin) != 0 || references[word] == 1) break;
      --references[word];
      column[word * stride] = 0;
    }
    return at;
  });
}

template <class Real>
void Support<Real>::put(std::int32_t feature, std::size_t i, Real value, bool thin) {
  if (in_bucket(feature)) {
    buckets_.make_room(1);
    put_at(buckets_.find(feature), feature, i, value, thin);
  } else if (!room_.given()) {
    put(slots_.direct_word(feature), feature, i, value, thin);
  } else {
    std::uint32_t slot = slots_.find(feature);
    const bool is_new = slot == Slots::kNone;
    put(slot, feature, i, value, thin);
    if (is_new) slots_.insert(feature, slot);
  }
}

template <class Real>
void Support<Real>::drop(std::int32_t feature, std::size_t i) {
  if (in_bucket(feature)) {
    drop_at(buckets_.find(feature), feature, i);
  } else if (!room_.given()) {
    drop(slots_.direct_word(feature), i, false);
  } else {
    std::uint32_t slot = slots_.find(feature);
    drop(slot, i, false);
    if (slot == Slots::kNone) slots_.erase(feature);
  }
}

template <class Real>
void Support<Real>::move(std::int32_t feature, std::size_t i, std::size_t to) {
  if (!in_bucket(feature)) return move(slots_.find(feature), i, to);
  const std::uint32_t place = buckets_.find(feature);
  if (buckets_.single(place)) {
    buckets_[place].example = static_cast<std::uint32_t>(to);
  } else {
    move(buckets_[place].example, i, to);
  }
}

// ---- words in buckets --------------------------------------------------------------------------

// `place` is the feature's, kNoSlot if it has none.
template <class Real>
void Support<Real>::put_at(std::uint32_t place, std::int32_t feature, std::size_t i, Real value,
                           bool thin) {
  if (place == kNoSlot && thin) {
    buckets_.insert(feature, true, {static_cast<std::uint32_t>(i), value});
    ++thin_;
    return;
  }
  if (place == kNoSlot) {
    place = buckets_.insert(feature, false, {kNoSlot, Real(0)});
  } else if (buckets_.single(place)) {
    const Posting<Real> only = buckets_[place];
    buckets_[place].example = kNoSlot;
    buckets_.set_single(place, false);
    lists_.push(buckets_[place].example, only.example, only.value);
  }
  put(buckets_[place].example, feature, i, value, thin);
}

template <class Real>
void Support<Real>::drop_at(std::uint32_t place, std::int32_t feature, std::size_t i) {
  if (buckets_.single(place)) {
    buckets_.erase(place, feature);
    --thin_;
    return;
  }
  Posting<Real>& entry = buckets_[place];
  drop(entry.example, i, true);
  if (entry.example == Slots::kNone) {
    buckets_.erase(place, feature);
  } else if ((entry.example & kThin) != 0 && lists_.count(entry.example) == 1) {
    std::uint32_t list = entry.example;
    entry = lists_[list].front();
    lists_.release(list);
    buckets_.set_single(place, true);
  }
}

// Asks for the memory of what is in these places of buckets, and of what words there lead to: the
// list, or what the slot has of example i.
template <class Real>
void Support<Real>::ask_for(std::span<const std::uint32_t> places, std::size_t i) const {
  for (const std::uint32_t place : places) {
    if (place != kNoSlot) __builtin_prefetch(&buckets_[place]);
  }
  for (const std::uint32_t place : places) {
    if (place == kNoSlot || buckets_.single(place)) continue;
    const std::uint32_t word = buckets_[place].example;
    if ((word & kThin) != 0) {
      __builtin_prefetch(lists_.address(word), 1);
    } else {
      columns_.ask_for(word, i);
    }
  }
}

// The features of x from number k on come to example i. Returns `norm` and their squares.
template <class Real>
Real Support<Real>::put_in_buckets(std::size_t i, const Sample<Real>& x, std::size_t k, Real norm) {
  std::uint32_t which[kTogether];
  std::uint32_t places[kTogether];
  buckets_.make_room(x.count - k);
  while (k < x.count) {
    const std::size_t count = std::min(kTogether, x.count - k);
    BucketTask<Real> work = buckets_.task({x.indices + k, count}, x.values + k, which, places);
    work.norm = norm;
    const std::size_t others = buckets_.insert(work, static_cast<std::uint32_t>(i));
    norm = work.norm;
    thin_ += count - others;
    ask_for({places, others}, i);
    for (std::size_t c = 0; c < others; ++c) {
      const std::size_t at = k + which[c];
      put_at(places[c], x.indices[at], i, x.values[at], true);
    }
    k += count;
  }
  return norm;
}

template <class Real>
void Support<Real>::drop_from_buckets(std::span<const std::int32_t> features, std::size_t i) {
  std::uint32_t which[kTogether];
  std::uint32_t places[kTogether];
  while (!features.empty()) {
    const auto some = features.first(std::min(kTogether, features.size()));
    BucketTask<Real> work = buckets_.task(some, nullptr, which, places);
    const std::size_t others = buckets_.erase(work);
    thin_ -= some.size() - others;
    ask_for({places, others}, i);
    for (std::size_t c = 0; c < others; ++c) drop_at(places[c], some[which[c]], i);
    features = features.subspan(some.size());
  }
}

// ---- invariants --------------------------------------------------------------------------------

// How much of the slots, values of thin features and room in lists the words lead to.
template <class Real>
auto Support<Real>::lead_to() const -> Extent {
  Extent all;
  const auto look = [&](std::uint32_t word) {
    if ((word & kThin) == 0) {
      ++all.slots;
    } else {
      all.few += lists_.count(word);
      all.room += lists_.room(word);
    }
  };
  for (const std::uint32_t word : slots_.direct()) {
    if (word != Slots::kNone) look(word);
  }
  buckets_.for_each([&](std::int32_t, std::uint32_t place) {
    if (buckets_.single(place)) {
      ++all.few;
    } else {
      look(buckets_[place].example);
    }
  });
  return all;
}

}  // namespace budgetron
