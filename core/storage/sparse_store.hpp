// Stored examples of sparse rows: memory follows the values that are stored, not features times
// examples.
//
//   feature that many examples have --> slot: one value per example, 0 where it has none
//                                       (ValueColumns). An array has the slot of a feature below
//                                       first_hashed_; the hash table has those of the others.
//   feature that few examples have ---> postings (example, value) in the hash table (PostingTable)
//
//   postings --> slot: when more than columns / kSlotShare + 1 examples have the feature
//   slot --> free:     when no example has it any more
//
// Sums take terms in the same order whatever the form is, so it changes no bit.
//
// With the Laplacian kernel, which sums over all examples, and with a byte limit
// (limited_store.hpp) every feature has a slot: most_postings_ is 0.
//
// Zeros are not stored. Features are looked up in parts of a row, whose home buckets are fetched
// together.
//
// Cost: O(features of the example), and their postings; growing is O(all).
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "storage/example_store.hpp"
#include "storage/posting_table.hpp"

namespace budgetron {

template <class Real>
class SparseStore : public ExampleStore<Real> {
 public:
  using typename ExampleStore<Real>::Stored;
  using Entry = typename PostingTable<Real>::Entry;

  explicit SparseStore(bool l1) : SparseStore(l1, !l1, {}) {}

  void gather(const Sample<Real>& x, RowTerms<Real>& row) const override {
    TermWriter<Real> terms(row, std::min(x.count, most_terms_));
    Part part;
    BucketTask<Real>& others = part.others;
    bool ones = columns_.bytes();
    for (std::size_t k = 0; k < x.count;) {
      k = part.read(x, k);
      const std::size_t known = look_up(part);
      std::size_t n = 0;
      for (; ones && n < part.features.size(); ++n) ones = part.values[n] == Real(1);
      const bool counted = ones && others.count == 0;  // n ones: nothing else is looked up
      if (counted) others.norm += static_cast<Real>(n);
      const std::size_t found = counted ? 0 : table_.find(others, this->first_slot_);
      if (this->first_slot_ > 0) {
        add_all(part, known, found, terms);
        continue;
      }
      n = 0;
      for (std::size_t f = 0; f < found; ++f) {
        const std::size_t number = others.numbers[others.which[f]];
        for (; n < std::min(number, known); ++n) terms.add(part.values[n], part.slots[n]);
        table_.visit(part.features[number], others.matches[f],
                     [&](const Entry& entry) { terms.add_entry(part.values[number], entry); });
      }
      for (; n < known; ++n) terms.add(part.values[n], part.slots[n]);
    }
    terms.finish();
    row.norm = others.norm;
    row.binary = ones && row.norm < Real(256);
  }
  // Merges, for each example, its sorted features with those of x.
  void add_differences(const Sample<Real>& x, bool squared, std::size_t first, std::size_t last,
                       Real* sums, std::vector<std::int32_t>& listed) const override {
    std::fill(sums, sums + (last - first), Real(0));
    const auto term = this->term(squared);
    for (std::size_t i = first; i < std::min(last, size_); ++i) {
      Real& sum = sums[i - first];
      std::size_t k = 0;
      list_features(i, listed);
      for (const std::int32_t feature : listed) {
        for (; k < x.count && x.feature(k) < feature; ++k) sum += term(x.values[k]);
        const bool there = k < x.count && x.feature(k) == feature;
        const Real value = there ? x.values[k++] : Real(0);
        sum += term(value - this->value(stored(feature), i));
      }
      for (; k < x.count; ++k) sum += term(x.values[k]);
    }
  }
  [[nodiscard]] Stored stored(std::int32_t feature) const final {
    const auto at = static_cast<std::size_t>(feature);
    if (at < array_.size() && array_[at] != kNoSlot) return {feature, array_[at], true};
    Stored found{feature};
    table_.visit(feature, [&](const Entry& entry) {
      found.anywhere = true;
      if (entry.is_slot()) found.slot = entry.slot();
    });
    return found;
  }
  [[nodiscard]] bool dense() const override { return false; }
  // Its features are looked up as those of a row, whose values are not known yet.
  void extract(std::size_t i, OwnedSample<Real>& out) const override {
    list_features(i, out.indices);
    out.dense = false;
    out.values.assign(out.indices.size(), Real(0));
    Part part;
    for (std::size_t k = 0; k < out.values.size();) {
      Real* const values = out.values.data() + k;
      k = part.read(out.view(), k);
      columns_.get({part.slots, look_up(part)}, i, values);
      BucketTask<Real>& others = part.others;
      const std::size_t found = others.count > 0 ? table_.find(others, 0) : 0;
      for (std::size_t f = 0; f < found; ++f) {
        const std::uint32_t which = others.which[f];
        table_.visit(others.features[which], others.matches[f], [&](const Entry& entry) {
          Real& value = values[others.numbers[which]];
          if (entry.is_slot()) value = columns_.at(entry.slot(), i);
          if (entry.example() == i) value = entry.value();
        });
      }
    }
  }
  void count_bytes(StateVisitor& visitor) const override {
    visitor.object(sizeof(*this));
    ExampleStore<Real>::count_bytes(visitor);
    table_.scratch(visitor);
    visitor.scratch(array_);
    visitor.scratch(uses_);
    visitor.scratch(free_);
    visitor.scratch(features_);
    for (const auto& features : features_) visitor.scratch(features);
  }
  [[nodiscard]] std::size_t postings() const { return table_.postings(); }

 protected:
  struct Use {  // of a slot
    std::int32_t feature = 0;
    std::uint32_t examples = 0;  // how many have the feature
  };

  using ExampleStore<Real>::size_, ExampleStore<Real>::columns_;

  // `posts`: some features have postings, and values may be bytes.
  SparseStore(bool l1, bool posts, const ByteLimit& limit)
      : ExampleStore<Real>(l1, posts, limit), posts_(posts), uses_(this->first_slot_) {}

  // The features of example i in their order.
  virtual void list_features(std::size_t i, std::vector<std::int32_t>& features) const {
    features.assign(features_[i].begin(), features_[i].end());
  }
  [[nodiscard]] static std::size_t nonzeros(const Sample<Real>& x) {
    return x.count - static_cast<std::size_t>(std::count(x.values, x.values + x.count, Real(0)));
  }
  // Writes the values of x into column i. Calls note(features) for those that have been written.
  template <class Note>
  void write_values(std::size_t i, const Sample<Real>& x, Note note) {
    columns_.hold(x.values, x.count);
    const bool zeros = nonzeros(x) < x.count;
    Part part;
    for (std::size_t k = 0; k < x.count;) {
      k = part.read(x, k, zeros);
      put(i, part);
      note(part.features);
    }
  }
  void write(std::size_t i, const Sample<Real>& x) override {
    std::vector<std::int32_t>& listed = features_[i];
    listed.clear();  // a failed allocation may have left some
    listed.reserve(nonzeros(x));
    write_values(i, x, [&listed](std::span<const std::int32_t> features) {
      listed.insert(listed.end(), features.begin(), features.end());
    });
  }
  void erase(std::size_t i) override {
    Part part;
    for (std::span<const std::int32_t> left = features_[i]; !left.empty();) {
      part.features = left.first(std::min(kMost, left.size()));
      left = left.subspan(part.features.size());
      clear({part.slots, look_up(part)}, i);
      const BucketTask<Real>& others = part.others;
      const std::size_t rest = table_.erase(part.others, i);
      std::size_t slots = 0;
      for (std::size_t r = 0; r < rest; ++r) {
        table_.visit(others.features[others.which[r]], others.matches[r], [&](const Entry& entry) {
          if (entry.is_slot()) part.slots[slots++] = entry.slot();
          if (entry.example() == i) table_.erase(entry);
        });
      }
      clear({part.slots, slots}, i);
    }
    features_[i].clear();
  }
  void move(std::size_t from, std::size_t to) override {
    for (const std::int32_t feature : features_[from]) {
      const std::uint32_t slot = stored(feature).slot;
      if (slot != kNoSlot) move_value(slot, from, to);
      table_.visit(feature, [&](const Entry& entry) {
        if (entry.example() == from) entry.set_example(to);
      });
    }
    features_[to].swap(features_[from]);
  }
  void set_columns(std::size_t columns) override {
    features_.resize(columns);
    most_postings_ = posts_ * (columns / kSlotShare + 1);
  }
  [[nodiscard]] Real posted(std::int32_t feature, std::size_t i) const override {
    Real value(0);
    table_.visit(feature, [&](const Entry& entry) {
      if (entry.example() == i) value = entry.value();
    });
    return value;
  }
  [[nodiscard]] std::string broken_invariant() const override {
    std::vector<std::int32_t> features;
    std::vector<Use> uses(uses_);
    std::size_t postings = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      list_features(i, features);
      for (const std::int32_t feature : features) {
        const Stored there = stored(feature);
        if (this->value(there, i) == Real(0)) return "a stored feature has no value";
        postings += there.slot == kNoSlot;
        if (there.slot != kNoSlot) --uses[there.slot].examples;
      }
    }
    const std::size_t mapped = array_.size() + table_.size() - table_.postings() -
                               static_cast<std::size_t>(std::ranges::count(array_, kNoSlot));
    if (mapped + free_.size() + this->first_slot_ != uses_.size()) return "a lost slot";
    if (std::ranges::count(uses, 0u, &Use::examples) != std::ssize(uses)) return "uses of a slot";
    if (postings != table_.postings()) return "a posting of no example";
    return table_.consistent() ? "" : "the hash table";
  }

  void move_value(std::uint32_t slot, std::size_t from, std::size_t to) {
    columns_.set(slot, to, columns_.at(slot, from));
    columns_.set(slot, from, Real(0));
  }
  // Example i loses the features of these slots.
  void clear(std::span<const std::uint32_t> slots, std::size_t i) {
    columns_.set(slots, i, [this](std::uint32_t slot, std::size_t) {
      if (--uses_[slot].examples == 0) release(slot, uses_[slot].feature);
      return Real(0);
    });
  }

 private:
  static constexpr std::size_t kSlotShare = 64;
  static constexpr std::size_t kMost = BucketTask<Real>::kMost;

  // A part of a row or example: some of its features, and where they are.
  struct Part {
    std::span<const std::int32_t> features;
    const Real* values = nullptr;
    std::uint32_t slots[kMost];  // in the array
    BucketTask<Real> others;     // those without one

    // Reads the next features of x, from value k on; returns where it ended. `zeros`: those of a
    // sparse row are left out, too.
    std::size_t read(const Sample<Real>& x, std::size_t k, bool zeros = false) {
      if (!x.dense() && !zeros) {
        features = {x.indices + k, std::min(kMost, x.count - k)};
        values = x.values + k;
        return k + features.size();
      }
      std::size_t count = 0;
      for (; k < x.count && count < kMost; ++k) {
        copied_features[count] = x.feature(k);
        copied_values[count] = x.values[k];
        count += x.values[k] != Real(0);
      }
      features = {copied_features, count};
      values = copied_values;
      return k;
    }
    std::int32_t copied_features[kMost];
    Real copied_values[kMost];
  };

  // Looks features up in the array. Returns how many are below its size, and thus have their slots,
  // or kNoSlot, in part.slots; features that have none are the `others`.
  std::size_t look_up(Part& part) const {
    const std::span<const std::int32_t> features = part.features;
    const std::span<const std::uint32_t> array(array_);
    BucketTask<Real>& others = part.others;
    std::uint32_t known = 0;
    std::size_t count = 0;
    for (; known < features.size(); ++known) {
      const auto at = static_cast<std::size_t>(features[known]);
      if (at >= array.size()) break;
      part.slots[known] = array[at];
      others.numbers[count] = known;
      count += array[at] == kNoSlot;
    }
    for (std::size_t n = 0; n < count; ++n) others.features[n] = features[others.numbers[n]];
    const std::size_t left = features.size() - known;
    std::copy_n(features.data() + known, left, others.features + count);
    std::iota(others.numbers + count, others.numbers + count + left, known);
    others.count = count + left;
    others.values = part.values;
    others.values_count = features.size();
    return known;
  }
  // The terms of the Laplacian kernel: all features, which have a slot or read that of zeros.
  void add_all(Part& part, std::size_t known, std::size_t found, TermWriter<Real>& terms) const {
    const BucketTask<Real>& others = part.others;
    const std::size_t count = part.features.size();
    std::fill(part.slots + known, part.slots + count, kNoSlot);
    for (std::size_t f = 0; f < found; ++f) {
      const std::uint32_t which = others.which[f];
      table_.visit(others.features[which], others.matches[f],
                   [&](const Entry& entry) { part.slots[others.numbers[which]] = entry.slot(); });
    }
    std::replace(part.slots, part.slots + count, kNoSlot, this->unknown_);
    for (std::size_t n = 0; n < count; ++n) terms.add(part.values[n], part.slots[n]);
  }

  // ---- slots ------------------------------------------------------------------------------------
  std::uint32_t new_slot(std::int32_t feature) {
    if (free_.empty()) {  // in this order: any of these may be out of memory
      columns_.add_slot();
      uses_.push_back({});
      free_.push_back(static_cast<std::uint32_t>(uses_.size() - 1));
    }
    const std::uint32_t slot = free_.back();
    const auto at = static_cast<std::size_t>(feature);
    if (at >= first_hashed_) {
      table_.reserve_more(1);
      table_.insert(feature, Bucket<Real>::kSlot + slot, Real(0));
    } else {
      if (at >= array_.size()) array_.resize(at + 1, kNoSlot);
      array_[at] = slot;
    }
    free_.pop_back();
    uses_[slot].feature = feature;
    return slot;
  }
  [[gnu::noinline]] void release(std::uint32_t slot, std::int32_t feature) {
    const auto at = static_cast<std::size_t>(feature);
    if (at < array_.size()) array_[at] = kNoSlot;
    table_.visit(feature, [&](const Entry& entry) { table_.erase(entry); });
    free_.push_back(slot);
  }

  // ---- values -----------------------------------------------------------------------------------
  // Example i gets some features.
  void put(std::size_t i, Part& part) {
    const std::size_t known = look_up(part);
    columns_.set({part.slots, known}, i, [this, &part](std::uint32_t slot, std::size_t n) {
      ++uses_[slot].examples;
      return part.values[n];
    });
    BucketTask<Real>& others = part.others;
    if (most_postings_ == 0) {
      for (std::size_t n = 0; n < others.count; ++n) {
        const std::uint32_t slot = stored(others.features[n]).slot;
        put(i, slot != kNoSlot ? slot : new_slot(others.features[n]),
            part.values[others.numbers[n]]);
      }
    } else if (others.count > 0) {
      table_.reserve_more(others.count);
      const std::size_t rest = table_.insert(others, i, most_postings_);
      for (std::size_t r = 0; r < rest; ++r) {
        const std::uint32_t which = others.which[r];
        put(i, others.features[which], others.matches[r], part.values[others.numbers[which]]);
      }
    }
  }
  // Example i gets one feature; `matches` are the places of the feature in its home bucket.
  void put(std::size_t i, std::int32_t feature, std::uint32_t matches, Real value) {
    std::uint32_t slot = kNoSlot;
    std::size_t count = 0;
    table_.visit(feature, matches, [&](const Entry& entry) {
      ++count;
      if (entry.is_slot()) slot = entry.slot();
    });
    if (slot == kNoSlot && count < most_postings_) {
      return table_.insert(feature, static_cast<std::uint32_t>(i), value);
    }
    if (slot == kNoSlot) slot = postings_to_slot(feature);
    put(i, slot, value);
  }
  [[gnu::noinline]] std::uint32_t postings_to_slot(std::int32_t feature) {
    const std::uint32_t slot = new_slot(feature);
    table_.visit(feature, [&](const Entry& entry) {
      if (entry.is_slot()) return;
      put(entry.example(), slot, entry.value());
      table_.erase(entry);
    });
    return slot;
  }
  void put(std::size_t i, std::uint32_t slot, Real value) {
    ++uses_[slot].examples;
    columns_.set(slot, i, value);
  }

  const bool posts_;
  std::size_t most_postings_ = 0;  // of a feature

 protected:
  std::size_t first_hashed_ = 1u << 16;
  std::size_t most_terms_ = std::numeric_limits<std::size_t>::max();
  std::vector<std::uint32_t> array_;  // the slots of small features
  PostingTable<Real> table_;
  std::vector<Use> uses_;                            // per slot
  std::vector<std::uint32_t> free_;                  // slots that no example has
  std::vector<std::vector<std::int32_t>> features_;  // per example
};

}  // namespace budgetron
