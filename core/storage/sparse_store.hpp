// Stored examples of sparse rows: memory follows the values that are stored, not features times
// examples.
//
//   feature that many examples have --> slot: one value per example, 0 where it has none
//                                       (ValueColumns). An array has the slot of a feature below
//                                       65,536; the hash table has those of the others.
//   feature that few examples have ---> postings (example, value) in the hash table (PostingTable)
//
//                  1 in kSlotShare columns
//        postings ------------------------> slot
//                 <------------------------
//                       half as many
//
// Sums take terms in the same order whatever the form is, so it changes no bit.
//
// With the Laplacian kernel, which sums over all examples, and with a byte limit every feature has
// a slot (most_postings_ is 0). With a byte limit slots are limited, and the features of an example
// are not listed but read from its column: the slots where it is not 0.
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

#include "storage/example_store.hpp"
#include "storage/posting_table.hpp"

namespace budgetron {

template <class Real>
class SparseStore final : public ExampleStore<Real> {
 public:
  using typename ExampleStore<Real>::Stored;
  using Entry = typename PostingTable<Real>::Entry;

  explicit SparseStore(bool l1) : ExampleStore<Real>(l1, !l1) {}

  void gather(const Sample<Real>& x, RowTerms<Real>& row) const override;
  void add_differences(const Sample<Real>& x, bool squared, std::size_t first, std::size_t last,
                       Real* sums, std::vector<std::int32_t>& listed) const override;
  [[nodiscard]] Stored stored(std::int32_t feature) const override {
    Stored found{feature, array_slot(feature)};
    found.anywhere = found.slot != kNoSlot;
    if (found.anywhere) return found;
    table_.visit(feature, [&](const Entry& entry) {
      found.anywhere = true;
      if (entry.is_slot()) found.slot = entry.slot();
    });
    return found;
  }
  [[nodiscard]] bool dense() const override { return false; }
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
    most_terms_ = this->most_terms();
    columns_.widen();
    const std::size_t slots = limit.slots + first_slot_;
    references_.reserve(slots);
    free_.reserve(slots);
    slot_features_.reserve(slots);
    read_.reserve(this->most_values());
    moving_.reserve(this->most_values());
    // Use the array or the hash table, whichever is smaller.
    first_hashed_ = limit.width / 8 <= limit.slots ? kNoLimit : 0;
    if (first_hashed_ > 0) {
      array_.resize(limit.width, kNoSlot);
    } else {
      table_.reserve_more(limit.slots + 1);
    }
    this->set_stride(padded(examples));
  }
  [[nodiscard]] bool fits(const Sample<Real>& x) const override {
    if (!limit_.given()) return true;
    std::size_t missing = 0;
    for (std::size_t k = 0; k < x.count; ++k) {
      missing += x.values[k] != Real(0) && !stored(x.feature(k)).anywhere;
    }
    return slots_in_use() + missing <= limit_.slots;
  }
  [[nodiscard]] bool fits_alone(const Sample<Real>& x) const override {
    if (!limit_.given() || x.count <= limit_.slots) return true;
    const auto zeros = std::count(x.values, x.values + x.count, Real(0));
    return x.count - static_cast<std::size_t>(zeros) <= limit_.slots;
  }
  void count_bytes(StateVisitor& visitor) const override {
    visitor.object(sizeof(*this));
    ExampleStore<Real>::count_bytes(visitor);
    table_.scratch(visitor);
    visitor.scratch(array_);
    visitor.scratch(references_);
    visitor.scratch(free_);
    visitor.scratch(features_);
    for (const auto& features : features_) visitor.scratch(features);
    visitor.scratch(slot_features_);
    visitor.scratch(read_);
    visitor.scratch(moving_.values);
    visitor.scratch(moving_.indices);
  }
  [[nodiscard]] std::size_t postings() const { return postings_; }

 protected:
  // Features with a slot in the array are stored at once, the others together afterwards. Zeros are
  // not stored.
  Real write(std::size_t i, const Sample<Real>& x) override {
    if (columns_.bytes() && !ValueColumns<Real>::bytes_hold(x.values, x.count)) columns_.widen();
    if (!limit_.given()) list_features(i, x);
    if (most_postings_ == 0) {
      for (std::size_t k = 0; k < x.count; ++k) {
        if (x.values[k] == Real(0)) continue;
        const std::uint32_t slot = stored(x.feature(k)).slot;
        put_in(slot != kNoSlot ? slot : new_slot(x.feature(k)), i, x.values[k]);
      }
      return this->norm_of(x);
    }
    std::int32_t features[kBatch];
    Real values[kBatch];
    Real norm(0);
    for (std::size_t k = 0; k < x.count; k += kBatch) {
      const std::size_t end = std::min(x.count, k + kBatch);
      const std::size_t missing = put_slots(i, x, k, end, features, values);
      if (missing == 0 && x.count <= kBatch) return this->norm_of(x);
      table_.reserve_more(missing);
      BucketTask<Real> work = table_.task(features, missing);
      work.values = values;
      work.squares = x.values + k;
      work.squares_count = end - k;
      work.norm = norm;
      const std::size_t others = table_.insert(work, i, most_postings_);
      norm = work.norm;
      postings_ += missing - others;
      for (std::size_t c = 0; c < others; ++c) {
        put(features[work.which[c]], work.matches[c], i, values[work.which[c]]);
      }
    }
    return norm;
  }
  Real overwrite(std::size_t i, const Sample<Real>& x) override {
    erase(i);
    return write(i, x);
  }
  void erase(std::size_t i) override {
    std::int32_t missing[kBatch];
    std::span<const std::int32_t> features = features_of(i, read_);
    while (!features.empty()) {
      const auto some = features.first(std::min(kBatch, features.size()));
      features = features.subspan(some.size());
      const std::size_t count = drop_slots(i, some, missing);
      if (count == 0) continue;
      BucketTask<Real> work = table_.task(missing, count);
      const std::size_t others = table_.erase(work, i);
      postings_ -= count - others;
      std::size_t thin = 0;  // slots become postings afterwards, because entries may move then
      for (std::size_t c = 0; c < others; ++c) {
        const std::int32_t feature = missing[work.which[c]];
        missing[thin] = feature;
        thin += drop(feature, work.matches[c], i);
      }
      for (std::size_t t = 0; t < thin; ++t) slot_to_postings(stored(missing[t]).slot, missing[t]);
    }
    features_[i].clear();
  }
  void move(std::size_t from, std::size_t to) override {
    extract(from, moving_);
    write(to, moving_.view());  // first: no slot loses its last example
    erase(from);
  }
  void set_columns() override {
    const bool all_slots = this->l1_ || limit_.given();
    most_postings_ = all_slots ? 0 : (stride_ + kSlotShare - 1) / kSlotShare;
    least_references_ = std::max<std::size_t>(1, (most_postings_ + 1) / 2);
    features_.resize(stride_);
    references_.resize(columns_.slots(), 1);  // the reference of kZeroSlot is never released
  }
  [[nodiscard]] Real posted(std::int32_t feature, std::size_t i) const override {
    Real value(0);
    table_.visit(feature, [&](const Entry& entry) {
      if (entry.example() == i) value = entry.value();
    });
    return value;
  }
  void add_posted(std::span<const double> weights, std::span<double> sums) const override {
    if (postings_ == 0) return;
    for (std::size_t i = 0; i < size_; ++i) {
      for (const std::int32_t feature : features_[i]) {
        if (static_cast<std::size_t>(feature) >= sums.size()) break;
        if (array_slot(feature) != kNoSlot) continue;
        const Stored there = stored(feature);
        if (there.slot != kNoSlot) continue;
        sums[static_cast<std::size_t>(feature)] +=
            weights[i] * static_cast<double>(this->value(there, i));
      }
    }
  }
  [[nodiscard]] std::string broken_invariant() const override {
    std::vector<std::int32_t> read;
    std::vector<std::uint32_t> references(references_.size(), 0);
    std::fill_n(references.begin(), std::min<std::size_t>(references.size(), first_slot_), 1u);
    std::size_t postings = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      for (const std::int32_t feature : features_of(i, read)) {
        const Stored there = stored(feature);
        if (this->value(there, i) == Real(0)) return "a stored feature has no value";
        if (there.slot == kNoSlot) {
          ++postings;
        } else {
          ++references[there.slot];
        }
      }
    }
    if (references != references_) return "references";
    if (postings != postings_) return "a posting of no example";
    if (!table_.consistent()) return "the hash table";
    auto slots = static_cast<std::size_t>(
        std::count_if(array_.begin(), array_.end(), [](auto slot) { return slot != kNoSlot; }));
    slots += table_.size() - postings_;
    return slots == slots_in_use() ? "" : "a slot was lost";
  }

 private:
  using ExampleStore<Real>::size_, ExampleStore<Real>::stride_, ExampleStore<Real>::columns_,
      ExampleStore<Real>::limit_, ExampleStore<Real>::first_slot_;

  static constexpr std::size_t kSmall = 1u << 16;
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kSlotShare = 64;
  // How many features are looked up in the hash table at once, so that no lookup waits for the
  // memory of another.
  static constexpr std::size_t kBatch = BucketTask<Real>::kMost;

  [[nodiscard]] bool hashed(std::int32_t feature) const {
    return static_cast<std::size_t>(feature) >= first_hashed_;
  }
  [[nodiscard]] std::uint32_t array_slot(std::int32_t feature) const {
    const auto at = static_cast<std::size_t>(feature);
    return at < array_.size() ? array_[at] : kNoSlot;
  }
  [[nodiscard]] std::size_t slots_in_use() const {
    return references_.size() - std::min<std::size_t>(references_.size(), first_slot_) -
           free_.size();
  }

  // ---- slots ------------------------------------------------------------------------------------
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
    if (hashed(feature)) {
      table_.reserve_more(1);
      table_.insert_slot(feature, slot);
    } else {
      const auto at = static_cast<std::size_t>(feature);
      if (at >= array_.size()) array_.resize(at + 1, kNoSlot);
      array_[at] = slot;
    }
    return slot;
  }
  void put_in(std::uint32_t slot, std::size_t i, Real value) {
    ++references_[slot];
    columns_.set(slot, i, value);
  }
  // For a slot that few examples still have. Otherwise rows of a stream of words would read slots
  // of features that were frequent long ago.
  [[gnu::noinline]] void slot_to_postings(std::uint32_t slot, std::int32_t feature) {
    if (hashed(feature)) {
      table_.visit(feature, [&](const Entry& entry) { table_.erase(entry); });
    } else {
      array_[static_cast<std::size_t>(feature)] = kNoSlot;
    }
    if (references_[slot] > 0) table_.reserve_more(references_[slot]);
    for (std::size_t i = 0; references_[slot] > 0; ++i) {
      const Real value = columns_.at(slot, i);
      if (value == Real(0)) continue;
      columns_.set(slot, i, Real(0));
      table_.insert(feature, static_cast<std::uint32_t>(i), value);
      --references_[slot];
      ++postings_;
    }
    free_.push_back(slot);
  }

  // ---- one feature ------------------------------------------------------------------------------
  // put: example i gets this value of a feature. drop: example i loses it. `matches` are the places
  // of the feature in its home bucket.
  void put(std::int32_t feature, std::uint32_t matches, std::size_t i, Real value) {
    std::uint32_t slot = kNoSlot;
    std::size_t count = 0;
    table_.visit(feature, matches, [&](const Entry& entry) {
      ++count;
      if (entry.is_slot()) slot = entry.slot();
    });
    if (slot == kNoSlot && count < most_postings_) {
      table_.insert(feature, static_cast<std::uint32_t>(i), value);
      ++postings_;
      return;
    }
    put_in(slot != kNoSlot ? slot : postings_to_slot(feature), i, value);
  }
  [[gnu::noinline]] std::uint32_t postings_to_slot(std::int32_t feature) {
    const std::uint32_t slot = new_slot(feature);
    table_.visit(feature, [&](const Entry& entry) {
      if (entry.is_slot()) return;
      put_in(slot, entry.example(), entry.value());
      table_.erase(entry);
      --postings_;
    });
    return slot;
  }
  // Returns whether the feature should lose its slot.
  bool drop(std::int32_t feature, std::uint32_t matches, std::size_t i) {
    bool thin = false;
    table_.visit(feature, matches, [&](const Entry& entry) {
      if (entry.is_slot()) {
        columns_.set(entry.slot(), i, Real(0));
        thin = --references_[entry.slot()] < least_references_;
      } else if (entry.example() == i) {
        table_.erase(entry);
        --postings_;
      }
    });
    return thin;
  }

  // ---- many features ----------------------------------------------------------------------------
  void list_features(std::size_t i, const Sample<Real>& x) {
    const auto zeros = std::count(x.values, x.values + x.count, Real(0));
    if (zeros == 0 && !x.dense()) return features_[i].assign(x.indices, x.indices + x.count);
    features_[i].reserve(x.count - static_cast<std::size_t>(zeros));
    for (std::size_t k = 0; k < x.count; ++k) {
      if (x.values[k] != Real(0)) features_[i].push_back(x.feature(k));
    }
  }
  // put and drop for those of some features that have a slot in the array; they return how many
  // have none, and which. The loops read local copies of pointers and sizes: as far as the compiler
  // knows, a byte that is written may alias the originals.
  std::size_t put_slots(std::size_t i, const Sample<Real>& x, std::size_t k, std::size_t end,
                        std::int32_t* features, Real* others) {
    const std::span<const std::uint32_t> array(array_);
    std::uint32_t* const references = references_.data();
    const std::size_t stride = columns_.stride();
    return columns_.with_values([=, &x](auto& values) {
      auto* const column = values.data() + i;
      std::size_t missing = 0;
      const auto miss = [&](std::size_t at) {
        features[missing] = x.feature(at);
        others[missing] = x.values[at];
        missing += x.values[at] != Real(0);
      };
      std::size_t at = k;
      for (; at < end && static_cast<std::size_t>(x.feature(at)) < array.size(); ++at) {
        const std::uint32_t slot = array[static_cast<std::size_t>(x.feature(at))];
        if (slot == kNoSlot) {
          miss(at);
        } else if (x.values[at] != Real(0)) {
          ++references[slot];
          column[slot * stride] =
              static_cast<std::remove_pointer_t<decltype(column)>>(x.values[at]);
        }
      }
      for (; at < end; ++at) miss(at);
      return missing;
    });
  }
  std::size_t drop_slots(std::size_t i, std::span<const std::int32_t> features,
                         std::int32_t* others) {
    const std::span<const std::uint32_t> array(array_);
    std::uint32_t* const references = references_.data();
    const std::size_t stride = columns_.stride();
    return columns_.with_values([=, this](auto& values) {
      auto* const column = values.data() + i;
      std::size_t missing = 0;
      std::size_t k = 0;
      for (; k < features.size() && static_cast<std::size_t>(features[k]) < array.size(); ++k) {
        const std::uint32_t slot = array[static_cast<std::size_t>(features[k])];
        if (slot == kNoSlot) {
          others[missing++] = features[k];
        } else {
          column[slot * stride] = 0;
          if (--references[slot] < least_references_) slot_to_postings(slot, features[k]);
        }
      }
      std::copy(features.begin() + static_cast<std::ptrdiff_t>(k), features.end(),
                others + missing);
      return missing + features.size() - k;
    });
  }

  // ---- rows (sparse_gather.cpp) -----------------------------------------------------------------
  void gather_all(const Sample<Real>& x, TermWriter<Real>& terms, Real& norm) const;
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

  std::size_t most_postings_ = 0;     // of a feature
  std::size_t least_references_ = 1;  // of a slot
  std::size_t first_hashed_ = kSmall;
  std::size_t most_terms_ = kNoLimit;
  std::vector<std::uint32_t> array_;  // the slots of small features
  PostingTable<Real> table_;
  std::size_t postings_ = 0;                         // entries of the table that are no slots
  std::vector<std::uint32_t> references_;            // per slot
  std::vector<std::uint32_t> free_;                  // slots without references
  std::vector<std::int32_t> slot_features_;          // per slot
  std::vector<std::vector<std::int32_t>> features_;  // per example; none with a byte limit
  std::vector<std::int32_t> read_;                   // scratch: features of the example that leaves
  OwnedSample<Real> moving_;                         // scratch
};

}  // namespace budgetron
