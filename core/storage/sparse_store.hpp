// Stored examples of sparse rows: memory follows the values that are stored, not features times
// examples.
//
// A feature is looked up in an array if its number is small, else in a hash table (BucketTable). It
// has a word there:
//
//   feature < 65,536           feature >= 65,536, as hashed text has
//         |                          |
//       array                   BucketTable
//         |                          |
//         |                          +---------> single value: the value of the only example that
//         |                          |           has the feature, in the table in place of a word
//         +--------- word -----------+
//                      |
//                      +-- kListFlag | start --> posting list: the examples that have the feature,
//                      |                         each with its value (PostingLists)
//                      +-- slot ---------------> slot: one value per example, 0 where it has none
//                                                (ValueColumns)
//
// A feature changes between the three as examples come and go:
//
//                2nd example                    1 in kListShare columns
//   single value ------------> posting list ------------------------> slot
//                <------------              <------------------------
//                1 is left                    half as many; hash table only
//
// Small features have no single values and keep their slot until the last example that has them
// leaves. Sums take terms in the same order whatever the form is, so it changes no bit.
//
// With the Laplacian kernel, which sums over all examples, and with a byte limit every feature has
// a slot. With a byte limit slots are limited, and the features of an example are not listed but
// read from its column: the slots where it is not 0.
//
// Invariant: references[s] counts the examples that have slot s.
//
// sparse_gather.cpp looks rows up.
//
// Cost: O(features of the example); with a byte limit O(slots) to erase, move and extract.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "storage/bucket_table.hpp"
#include "storage/example_store.hpp"

namespace budgetron {

template <class Real>
class SparseStore final : public ExampleStore<Real> {
 public:
  using typename ExampleStore<Real>::Stored;

  explicit SparseStore(bool l1) : ExampleStore<Real>(l1, !l1), all_slots_(l1) {}

  void gather(const Sample<Real>& x, RowTerms<Real>& row) const override;
  void add_differences(const Sample<Real>& x, bool squared, std::size_t first, std::size_t last,
                       Real* sums, std::vector<std::int32_t>& listed) const override;
  [[nodiscard]] Stored stored(std::int32_t feature) const override {
    if (!hashed(feature)) return stored_by(small_word(feature));
    const std::uint32_t place = buckets_.find(feature);
    return place == kNoPlace ? Stored{} : stored_at(place);
  }
  [[nodiscard]] bool dense() const override { return false; }
  [[nodiscard]] std::size_t features() const override {
    std::size_t listed = 0;
    for (const std::uint32_t word : words_) listed += word != kNoSlot && is_list(word);
    buckets_.for_each(
        [&](std::int32_t, std::uint32_t place) { listed += stored_at(place).slot == kNoSlot; });
    return references_.size() - std::min<std::size_t>(references_.size(), first_slot_) -
           free_.size() + listed;
  }
  void extract(std::size_t i, OwnedSample<Real>& out) const override {
    out.dense = false;
    out.values.clear();
    const std::span<const std::int32_t> features = features_of(i, out.indices);
    if (features.data() != out.indices.data()) {
      out.indices.assign(features.begin(), features.end());
    }
    for (const std::int32_t feature : out.indices) {
      out.values.push_back(this->value(stored(feature), i));
    }
  }
  void reserve_all(std::size_t examples, const ByteLimit& limit) override {
    limit_ = limit;
    all_slots_ = true;
    most_terms_ = this->most_terms();
    columns_.widen();
    const std::size_t slots = limit.slots + first_slot_;
    references_.reserve(slots);
    free_.reserve(slots);
    slot_features_.reserve(slots);
    read_.reserve(this->most_values());
    // Use the array or the hash table, whichever is smaller.
    first_hashed_ = limit.width / 8 <= limit.slots ? kNoLimit : 0;
    if (first_hashed_ > 0) {
      words_.resize(limit.width, kNoSlot);
    } else {
      buckets_.reserve_more(limit.slots + 1);
    }
    this->set_stride(padded(examples));
  }
  [[nodiscard]] bool fits(const Sample<Real>& x) const override {
    if (!limit_.given()) return true;
    std::size_t missing = 0;
    for (std::size_t k = 0; k < x.count; ++k) {
      missing += x.values[k] != Real(0) && !stored(x.feature(k)).anywhere();
    }
    return references_.size() - free_.size() + missing <= limit_.slots + first_slot_;
  }
  [[nodiscard]] bool fits_alone(const Sample<Real>& x) const override {
    if (!limit_.given() || x.count <= limit_.slots) return true;
    const auto zeros = std::count(x.values, x.values + x.count, Real(0));
    return x.count - static_cast<std::size_t>(zeros) <= limit_.slots;
  }
  void count_bytes(StateVisitor& visitor) const override {
    visitor.object(sizeof(*this));
    ExampleStore<Real>::count_bytes(visitor);
    buckets_.scratch(visitor);
    lists_.scratch(visitor);
    visitor.scratch(words_);
    visitor.scratch(references_);
    visitor.scratch(free_);
    visitor.scratch(features_);
    for (const auto& features : features_) visitor.scratch(features);
    visitor.scratch(slot_features_);
    visitor.scratch(read_);
  }
  [[nodiscard]] std::size_t listed_values() const { return listed_values_; }

 protected:
  // The loop over single features serves rows with zeros, which are not stored, and stores without
  // lists.
  Real write(std::size_t i, const Sample<Real>& x) override {
    if (columns_.bytes() && !ValueColumns<Real>::bytes_hold(x.values, x.count)) columns_.widen();
    const bool one_by_one = x.dense() || all_slots_ ||
                            std::find(x.values, x.values + x.count, Real(0)) != x.values + x.count;
    if (one_by_one) {
      for (std::size_t k = 0; k < x.count; ++k) {
        if (x.values[k] == Real(0)) continue;
        put(x.feature(k), i, x.values[k]);
        if (!limit_.given()) features_[i].push_back(x.feature(k));
      }
      return this->norm_of(x);
    }
    features_[i].assign(x.indices, x.indices + x.count);
    std::size_t k = 0;
    while ((k = put_slots(i, x, k)) < x.count && !hashed(x.indices[k])) {
      put(x.indices[k], i, x.values[k]);
      ++k;
    }
    return put_hashed(i, x, k, this->norm_of({x.values, x.indices, k}));
  }
  Real overwrite(std::size_t i, const Sample<Real>& x) override {
    erase(i);
    return write(i, x);
  }
  void erase(std::size_t i) override {
    const std::span<const std::int32_t> features = features_of(i, read_);
    std::size_t k = 0;
    while ((k = drop_slots(i, features, k)) < features.size() && !hashed(features[k])) {
      drop(words_[static_cast<std::size_t>(features[k++])], i);
    }
    drop_hashed(features.subspan(k), i);
    features_[i].clear();
  }
  void move(std::size_t from, std::size_t to) override {
    for (const std::int32_t feature : features_of(from, read_)) {
      const std::uint32_t place = hashed(feature) ? buckets_.find(feature) : kNoPlace;
      const std::uint32_t word = place == kNoPlace ? small_word(feature) : buckets_[place].example;
      if (place != kNoPlace && buckets_.single(place)) {
        buckets_[place].example = static_cast<std::uint32_t>(to);
      } else if (is_list(word)) {
        lists_.find(word, static_cast<std::uint32_t>(from))->example =
            static_cast<std::uint32_t>(to);
      } else {
        columns_.set(word, to, columns_.at(word, from));
        columns_.set(word, from, Real(0));
      }
    }
    features_[to].swap(features_[from]);
  }
  void set_columns() override {
    features_.resize(stride_);
    references_.resize(columns_.slots(), 1);  // the reference of kZeroSlot is never released
  }
  [[nodiscard]] std::string broken_invariant() const override {
    std::vector<std::int32_t> read;
    std::vector<std::uint32_t> references(references_.size(), 0);
    std::fill_n(references.begin(), std::min<std::size_t>(references.size(), first_slot_), 1u);
    std::size_t in_lists = 0;  // values in posting lists and single values
    for (std::size_t i = 0; i < size_; ++i) {
      for (const std::int32_t feature : features_of(i, read)) {
        const Stored there = stored(feature);
        if (this->value(there, i) == Real(0)) return "a stored feature has no value";
        if (there.slot == kNoSlot) {
          ++in_lists;
        } else {
          ++references[there.slot];
        }
      }
    }
    if (references != references_) return "references";
    if (in_lists != listed_values_) return "a list has a value of no example";
    if (!buckets_.consistent()) return "buckets";
    std::size_t slots = free_.size() + std::min<std::size_t>(references_.size(), first_slot_);
    std::size_t capacity = lists_.unused();
    const auto count = [&](std::uint32_t word) {
      slots += !is_list(word);
      if (is_list(word) && word != kNoSlot) capacity += lists_.capacity(word);
    };
    for (const std::uint32_t word : words_) count(word);
    buckets_.for_each([&](std::int32_t, std::uint32_t place) {
      if (!buckets_.single(place)) count(buckets_[place].example);
    });
    if (slots != references_.size()) return "a slot was lost";
    if (capacity != lists_.size()) return "a list was lost";
    return "";
  }

 private:
  using ExampleStore<Real>::size_, ExampleStore<Real>::stride_, ExampleStore<Real>::columns_,
      ExampleStore<Real>::limit_, ExampleStore<Real>::first_slot_;

  static constexpr std::size_t kSmall = 1u << 16;
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kListShare = 32;
  // How many features are looked up in the hash table at once, so that no lookup waits for the
  // memory of another.
  static constexpr std::size_t kBatch = BucketTask<Real>::kMost;

  // ---- words ----------------------------------------------------------------------------------
  [[nodiscard]] static bool is_list(std::uint32_t word) { return (word & kListFlag) != 0; }
  [[nodiscard]] bool hashed(std::int32_t feature) const {
    return static_cast<std::size_t>(feature) >= first_hashed_;
  }
  [[nodiscard]] std::uint32_t small_word(std::int32_t feature) const {
    const auto at = static_cast<std::size_t>(feature);
    return at < words_.size() ? words_[at] : kNoSlot;
  }
  [[nodiscard]] Stored stored_at(std::uint32_t place) const {
    const Posting<Real>& entry = buckets_[place];
    if (buckets_.single(place)) return {kNoSlot, {&entry, 1}};
    return stored_by(entry.example);
  }
  [[nodiscard]] Stored stored_by(std::uint32_t word) const {
    if (!is_list(word)) return {word, {}};
    if (word == kNoSlot) return {};
    return {kNoSlot, lists_[word]};
  }
  std::uint32_t new_slot(std::int32_t feature) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(references_.size());
      references_.push_back(0);
      slot_features_.resize(references_.size());
      columns_.add_slot();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slot_features_[slot] = feature;
    return slot;
  }
  void list_to_slot(std::uint32_t& word, std::int32_t feature) {
    const std::uint32_t slot = new_slot(feature);
    for (const Posting<Real>& posting : lists_[word]) {
      columns_.set(slot, posting.example, posting.value);
      ++references_[slot];
      --listed_values_;
    }
    lists_.release(word);
    word = slot;
  }
  // Frees the slot of a feature that only few examples still have. Otherwise rows of a stream of
  // words would read slots of features that were frequent long ago.
  void slot_to_list(std::uint32_t& word) {
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
    free_.push_back(slot);
  }
  // put: example i gets this value of a feature. drop: example i loses it. By feature, by its word,
  // or by its place in the hash table (kNoPlace: not in the table).
  void put(std::int32_t feature, std::size_t i, Real value) {
    if (hashed(feature)) {
      buckets_.reserve_more(1);
      put_at(buckets_.find(feature), feature, i, value);
      return;
    }
    const auto at = static_cast<std::size_t>(feature);
    if (at >= words_.size()) words_.resize(at + 1, kNoSlot);
    put(words_[at], feature, i, value);
  }
  void put(std::uint32_t& word, std::int32_t feature, std::size_t i, Real value) {
    if (is_list(word)) {
      const std::size_t examples = word == kNoSlot ? 0 : lists_.count(word);
      if (!all_slots_ && kListShare * examples < stride_) {
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
  void put_at(std::uint32_t place, std::int32_t feature, std::size_t i, Real value) {
    if (place == kNoPlace && !all_slots_) {
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
    put(buckets_[place].example, feature, i, value);
  }
  void drop(std::uint32_t& word, std::size_t i) {
    if (is_list(word)) {
      lists_.pop(word, static_cast<std::uint32_t>(i));
      --listed_values_;
      return;
    }
    columns_.set(word, i, Real(0));
    if (--references_[word] > 0) return;
    free_.push_back(word);
    word = kNoSlot;
  }
  void drop_at(std::uint32_t place, std::int32_t feature, std::size_t i) {
    if (buckets_.single(place)) {
      buckets_.erase(place, feature);
      --listed_values_;
      return;
    }
    std::uint32_t& word = buckets_[place].example;
    drop(word, i);
    if (word == kNoSlot) {
      buckets_.erase(place, feature);
      return;
    }
    if (!is_list(word) && !all_slots_ && 2 * kListShare * references_[word] < stride_) {
      slot_to_list(word);
    }
    if (is_list(word) && lists_.count(word) == 1) {
      std::uint32_t list = word;
      buckets_[place] = lists_[list].front();
      lists_.release(list);
      buckets_.set_single(place, true);
    }
  }
  // The same for the features from number k on, as long as they are small and have a slot, as
  // nearly all features of most streams do; they return the number of the first feature that
  // differs. The loops read local copies of pointers and sizes: as far as the compiler knows, a
  // byte that is written may alias the originals.
  std::size_t put_slots(std::size_t i, const Sample<Real>& x, std::size_t k) {
    const std::span<const std::uint32_t> words(words_);
    std::uint32_t* const references = references_.data();
    const std::size_t stride = columns_.stride();
    return columns_.with_values([&, words, references, stride](auto& values) {
      auto* const column = values.data() + i;
      std::size_t at = k;
      for (; at < x.count; ++at) {
        const auto feature = static_cast<std::size_t>(x.indices[at]);
        const std::uint32_t word = feature < words.size() ? words[feature] : kNoSlot;
        if (is_list(word) || x.values[at] == Real(0)) break;
        ++references[word];
        column[word * stride] = static_cast<std::remove_pointer_t<decltype(column)>>(x.values[at]);
      }
      return at;
    });
  }
  // Also stops at a feature whose only holder is example i: its slot has to be freed.
  std::size_t drop_slots(std::size_t i, std::span<const std::int32_t> features, std::size_t k) {
    const std::span<const std::uint32_t> words(words_);
    std::uint32_t* const references = references_.data();
    const std::size_t stride = columns_.stride();
    return columns_.with_values([=](auto& values) {
      auto* const column = values.data() + i;
      std::size_t at = k;
      for (; at < features.size(); ++at) {
        const auto feature = static_cast<std::size_t>(features[at]);
        const std::uint32_t word = feature < words.size() ? words[feature] : kNoSlot;
        if (is_list(word) || references[word] == 1) break;
        --references[word];
        column[word * stride] = 0;
      }
      return at;
    });
  }
  // The same for hashed features, many at once. put_hashed returns `norm` plus their squares.
  Real put_hashed(std::size_t i, const Sample<Real>& x, std::size_t k, Real norm) {
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
      for (std::size_t c = 0; c < others; ++c) {
        const std::size_t at = k + which[c];
        put_at(places[c], x.indices[at], i, x.values[at]);
      }
      k += count;
    }
    return norm;
  }
  void drop_hashed(std::span<const std::int32_t> features, std::size_t i) {
    std::uint32_t which[kBatch];
    std::uint32_t places[kBatch];
    while (!features.empty()) {
      const auto some = features.first(std::min(kBatch, features.size()));
      BucketTask<Real> work = buckets_.task(some, nullptr, which, places);
      const std::size_t others = buckets_.erase(work);
      listed_values_ -= some.size() - others;
      for (std::size_t c = 0; c < others; ++c) drop_at(places[c], some[which[c]], i);
      features = features.subspan(some.size());
    }
  }

  // ---- rows (sparse_gather.cpp) ---------------------------------------------------------------
  void add_words(TermWriter<Real>& terms, std::size_t count) const;
  void gather_hashed(const Sample<Real>& x, std::size_t k, TermWriter<Real>& terms,
                     Real& norm) const;
  void mark_binary(RowTerms<Real>& row, bool known) const;

  // The features of example i in their order; `read` is the buffer for reading a column.
  [[nodiscard]] std::span<const std::int32_t> features_of(std::size_t i,
                                                          std::vector<std::int32_t>& read) const {
    if (!limit_.given()) return features_[i];
    read.clear();
    for (std::uint32_t slot = first_slot_; slot < references_.size(); ++slot) {
      if (columns_.at(slot, i) != Real(0)) read.push_back(slot_features_[slot]);
    }
    std::sort(read.begin(), read.end());
    return read;
  }

  bool all_slots_;  // no posting lists and no single values
  std::size_t first_hashed_ = kSmall;
  std::size_t most_terms_ = kNoLimit;
  std::vector<std::uint32_t> words_;  // of the small features
  BucketTable<Real> buckets_;
  PostingLists<Real> lists_;
  std::vector<std::uint32_t> references_;            // per slot
  std::vector<std::uint32_t> free_;                  // slots without references
  std::size_t listed_values_ = 0;                    // in posting lists and single values
  std::vector<std::int32_t> slot_features_;          // per slot
  std::vector<std::vector<std::int32_t>> features_;  // per example; none with a byte limit
  std::vector<std::int32_t> read_;  // scratch: features of the example that leaves or moves
};

}  // namespace budgetron
