// The stored examples, feature by feature: value j of example i is with feature j.
//
// A table finds the values of a feature: an array for small feature numbers (FeatureTable), a hash
// table for large ones (BucketTable). Its answer is a word, kept in the table:
//
//   feature < 65,536           feature >= 65,536, as hashed text has
//         |                          |
//   FeatureTable               BucketTable
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
//                2nd example                    1 in kListShare columns, or a dense example
//   single value ------------> posting list ------------------------------------------------> slot
//                <------------              <------------------------------------------------
//                1 is left                    half as many and none dense; hash table only
//
// So memory follows the values that are stored, not features times examples. Small features have no
// single values and keep their slot until the last example that has them leaves. Sums take terms in
// the same order whatever the form is, so it changes no bit. All features have slots with the
// Laplacian kernel, which sums over all examples, and with a byte limit.
//
// Examples sit in columns 0..size-1 of all slots; removing one moves the last into its column. A
// dense example counts as having all its features, zeros too.
//
// Invariants: padding columns and absent features are 0; references[s] counts the examples that
// have slot s; norms[i] is the norm of column i by the row's own arithmetic.
//
// With a byte limit (byte_limit.hpp) all memory is taken in advance and slots are limited. The
// features of an example are then not listed but read from its column: the slots where it is not 0.
//
// example_store.cpp stores and removes, gather.cpp looks up the terms of a row, distances.cpp sums
// differences.
//
// Cost: append, replace, remove and extract are O(features of the example), with a byte limit
// O(slots); growing is O(all).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/sample.hpp"
#include "base/state.hpp"
#include "storage/bucket_table.hpp"
#include "storage/byte_limit.hpp"
#include "storage/feature_table.hpp"
#include "storage/posting_lists.hpp"
#include "storage/row_terms.hpp"
#include "storage/value_columns.hpp"

namespace budgetron {

template <class Real>
class ExampleStore {
 public:
  // `l1` keeps ||x||_1 instead of ||x||^2 as the norm (Laplacian kernel).
  explicit ExampleStore(bool l1) : l1_(l1), columns_(!l1) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] const ValueColumns<Real>& columns() const { return columns_; }
  [[nodiscard]] const Real* norms() const { return norms_.data(); }
  [[nodiscard]] const std::uint8_t* byte_norms() const { return byte_norms_.data(); }
  [[nodiscard]] double largest_norm() const { return largest_norm_; }
  [[nodiscard]] bool l1() const { return l1_; }

  // Times of changes, for caches of what was computed from the store: now; when one of the examples
  // [kLanes group, kLanes (group + 1)) last changed; when slots last moved.
  [[nodiscard]] std::uint64_t clock() const { return clock_; }
  [[nodiscard]] std::uint64_t changed(std::size_t group) const { return changed_[group]; }
  [[nodiscard]] std::uint64_t slots_moved() const { return slots_moved_; }
  // The example stored last, and the address of the values it was made of; null if another example
  // was moved there.
  [[nodiscard]] std::size_t newest() const { return newest_; }
  [[nodiscard]] const Real* newest_values() const { return newest_values_; }
  // Slots of the features 0, 1, ..., as far as they are looked up directly.
  [[nodiscard]] const std::vector<std::uint32_t>& direct_slots() const { return slots_.direct(); }
  // ||x_i||^2, which with `l1` is kept beside the norm only on request.
  void keep_squared_norms() { keeps_squares_ = l1_; }
  [[nodiscard]] const Real* squared_norms() const {
    return l1_ ? squared_norms_.data() : norms_.data();
  }

  // The norm and the terms of x: what the row routine multiplies.
  void gather(const Sample<Real>& x, RowTerms<Real>& row) const;
  // ||x_i - x||^2 or ||x_i - x||_1 of the examples [first, last), from differences; 0 for padding
  // (distances.cpp). `listed` is scratch.
  void squared_distances(const Sample<Real>& x, std::size_t first, std::size_t last, Real* sums,
                         std::vector<std::int32_t>& listed) const;
  void absolute_distances(const Sample<Real>& x, std::size_t first, std::size_t last, Real* sums,
                          std::vector<std::int32_t>& listed) const;
  // The largest norm of the examples there are now.
  [[nodiscard]] double largest_norm_now() const {
    return size_ > 0 ? static_cast<double>(*std::max_element(
                           norms_.begin(), norms_.begin() + static_cast<std::ptrdiff_t>(size_)))
                     : 0.0;
  }
  // All examples were replaced: the largest norm is that of the new ones.
  void forget_largest_norm() { largest_norm_ = largest_norm_now(); }
  // Whether every stored feature is in a slot that is looked up directly.
  [[nodiscard]] bool direct_only() const {
    return listed_values_ == 0 && buckets_.empty() && slots_.all_direct();
  }

  void reserve(std::size_t examples);
  // Takes all memory there will be, for so many examples. Precondition: empty.
  void reserve_all(std::size_t examples, const ByteLimit& limit);
  // Whether the features of x find slots: beside what is stored, in the place of example i, alone.
  [[nodiscard]] bool fits(const Sample<Real>& x) const;
  [[nodiscard]] bool fits_instead(std::size_t i, const Sample<Real>& x) const;
  [[nodiscard]] bool fits_alone(const Sample<Real>& x) const;
  [[nodiscard]] std::size_t features() const {  // that have a slot
    return references_.size() - free_.size() - (l1_ && !references_.empty() ? 1 : 0) +
           listed_features();
  }
  [[nodiscard]] std::size_t listed_values() const {
    return listed_values_;
  }  // values in lists and single values
  // Where the values of a feature are: in a slot, or in `few` postings (a list, or a single value).
  // Valid until something changes.
  struct Stored {
    std::uint32_t slot = kNoSlot;
    std::span<const Posting<Real>> few;

    [[nodiscard]] bool anywhere() const { return slot != kNoSlot || !few.empty(); }
  };
  [[nodiscard]] Stored stored(std::int32_t feature) const {
    if (!in_bucket(feature)) return stored_by(slots_.find(feature));
    const std::uint32_t place = buckets_.find(feature);
    return place == kNoPlace ? Stored{} : stored_at(place);
  }
  // What example i has there.
  [[nodiscard]] Real value(const Stored& stored, std::size_t i) const {
    if (stored.slot != kNoSlot) return columns_.at(stored.slot, i);
    for (const Posting<Real>& posting : stored.few) {
      if (posting.example == i) return posting.value;
    }
    return Real(0);
  }
  // How many terms `gather` finds at most, and values `extract`. With a byte limit.
  [[nodiscard]] std::size_t most_terms() const { return l1_ ? limit_.width : most_values(); }
  [[nodiscard]] std::size_t most_values() const { return std::min(limit_.width, limit_.slots); }
  void append(const Sample<Real>& x);
  void replace(std::size_t i, const Sample<Real>& x);
  void remove(std::size_t i);
  void extract(std::size_t i, OwnedSample<Real>& out) const;
  // sums[j] += sum_i weights[i] times value j of example i, of the features below sums.size().
  void add_weighed(std::span<const double> weights, std::span<double> sums) const;
  [[nodiscard]] Real norm_of(const Sample<Real>& x) const;

  void visit_state(StateVisitor& visitor);
  // Recomputes everything kept up to date and throws std::logic_error where it differs.
  void check_invariants() const;

 private:
  static constexpr std::int32_t kSparse = -1;
  // The Laplacian sums |v - s| over features that no example has too: they read this slot of zeros.
  static constexpr std::uint32_t kZeroSlot = 0;

  // ---- words of features -----------------------------------------------------------------------
  static constexpr std::size_t kListShare = 32;
  // Features that are looked up in the hash table at once: no lookup waits for the memory of
  // another.
  static constexpr std::size_t kBatch = BucketTask<Real>::kMost;
  [[nodiscard]] bool may_list() const { return !l1_ && !limit_.given(); }
  // Whether a list of so many examples may take one more; whether a slot of so many may become a
  // list.
  [[nodiscard]] bool list_may_grow(std::size_t examples) const {
    return kListShare * examples < stride_;
  }
  [[nodiscard]] bool may_list_again(std::size_t examples) const {
    return 2 * kListShare * examples < stride_ && dense_ == 0 && may_list();
  }
  [[nodiscard]] bool in_bucket(std::int32_t feature) const {
    return static_cast<std::size_t>(feature) >= FeatureTable::kDirect && !limit_.given();
  }
  [[nodiscard]] Stored stored_at(std::uint32_t place) const {
    const Posting<Real>& entry = buckets_[place];
    if (buckets_.single(place)) return {kNoSlot, {&entry, 1}};
    return stored_by(entry.example);
  }
  [[nodiscard]] Stored stored_by(std::uint32_t word) const {
    if (word == kNoSlot) return {};
    if ((word & kListFlag) != 0) return {kNoSlot, lists_[word]};
    return {word, {}};
  }
  [[nodiscard]] std::size_t listed_features() const;
  std::uint32_t new_slot(std::int32_t feature);
  void free_slot(std::uint32_t slot);
  void list_to_slot(std::uint32_t& word, std::int32_t feature);
  void slot_to_list(std::uint32_t& word);
  // `word` is a feature's. put: example i gets this value of it, in a list if `list` allows. drop:
  // example i no longer has it. reassign: what was of example i is of example `to`.
  void put(std::uint32_t& word, std::int32_t feature, std::size_t i, Real value, bool list);
  void drop(std::uint32_t& word, std::size_t i, bool hashed);
  void reassign(std::uint32_t word, std::size_t i, std::size_t to);
  // The same for the features from number k on, as long as they are small and have a slot, as
  // nearly all features of most streams; returns the number of the first that is not. drop_slots
  // also stops at a feature whose only holder is example i: its slot has to be freed.
  std::size_t put_slots(std::size_t i, const Sample<Real>& x, std::size_t k);
  std::size_t drop_slots(std::size_t i, std::span<const std::int32_t> features, std::size_t k);
  // The same of a feature, wherever its word is.
  void put(std::int32_t feature, std::size_t i, Real value, bool list);
  void put_at(std::uint32_t place, std::int32_t feature, std::size_t i, Real value, bool list);
  Real put_hashed(std::size_t i, const Sample<Real>& x, std::size_t k, Real norm);
  void drop(std::int32_t feature, std::size_t i);
  void drop_at(std::uint32_t place, std::int32_t feature, std::size_t i);
  void prefetch(std::span<const std::uint32_t> places, std::size_t i) const;
  void drop_hashed(std::span<const std::int32_t> features, std::size_t i);
  void reassign(std::int32_t feature, std::size_t i, std::size_t to);
  template <class Term>
  void add_differences(const Sample<Real>& x, std::size_t first, std::size_t last, Real* sums,
                       std::vector<std::int32_t>& listed, Term term) const;
  class TermWriter;  // writes the terms of a row, for gather
  void lists_to_hits(TermWriter& terms) const;
  void mark_binary(RowTerms<Real>& row, bool known) const;
  void gather_hashed(const Sample<Real>& x, std::size_t k, TermWriter& terms, Real& norm) const;
  struct Extent {
    std::size_t slots = 0;
    std::size_t listed = 0;
    std::size_t capacity = 0;
  };
  [[nodiscard]] Extent count_words() const;

  void occupy(std::size_t i, const Sample<Real>& x);
  Real occupy_sparse(std::size_t i, const Sample<Real>& x);  // its norm
  void vacate(std::size_t i);
  void set_norms(std::size_t i, const Sample<Real>& x, Real norm);
  // Column i holds another example now, made of these values.
  void record_change(std::size_t i, const Real* values) {
    changed_[i / kLanes] = ++clock_;
    newest_ = i;
    newest_values_ = values;
  }
  // Stored with all its features, zeros too; else without its zeros.
  [[nodiscard]] bool whole(const Sample<Real>& x) const {
    return x.dense() && (!limit_.given() || limit_.all());
  }
  [[nodiscard]] std::size_t slots_needed(const Sample<Real>& x) const;
  [[nodiscard]] std::size_t free_slots() const;
  [[nodiscard]] bool in_width(const Sample<Real>& x) const;
  void list_features(std::size_t i, std::vector<std::int32_t>& out) const;
  // In their order; `listed` is where a column is read into, which takes turns with no one.
  template <class Visit>
  void for_each_feature(std::size_t i, std::vector<std::int32_t>& listed, Visit visit) const {
    if (widths_[i] == kSparse && limit_.given()) {
      list_features(i, listed);
      for (const std::int32_t feature : listed) visit(feature);
    } else if (widths_[i] == kSparse) {
      for (const std::int32_t feature : features_[i]) visit(feature);
    } else {
      for (std::int32_t feature = 0; feature < widths_[i]; ++feature) visit(feature);
    }
  }

  bool l1_;
  bool keeps_squares_ = false;
  std::size_t size_ = 0;
  std::size_t stride_ = 0;
  double largest_norm_ = 0.0;  // of any example ever stored: an upper bound for the stored ones
  ValueColumns<Real> columns_;
  AlignedVector<Real> norms_;
  AlignedVector<std::uint8_t> byte_norms_;  // the same as far as bytes hold them, with such columns
  AlignedVector<Real> squared_norms_;       // only if keeps_squares_
  std::uint64_t clock_ = 0;
  std::uint64_t slots_moved_ = 0;
  std::size_t newest_ = 0;
  const Real* newest_values_ = nullptr;
  std::vector<std::uint64_t> changed_;  // per kLanes examples
  FeatureTable slots_;
  std::vector<std::uint32_t> references_;  // per slot
  std::vector<std::uint32_t> free_;        // slots without references
  BucketTable<Real> buckets_;              // where large features are
  PostingLists<Real> lists_;
  std::size_t listed_values_ = 0;     // values in lists and single values
  std::size_t dense_ = 0;             // stored examples that are dense
  std::vector<std::int32_t> widths_;  // per example: its width if dense, else kSparse
  std::vector<std::vector<std::int32_t>> features_;  // per example: its features if sparse
  // With a byte limit, instead:
  ByteLimit limit_;
  std::vector<std::int32_t> slot_features_;  // per slot
  std::vector<std::int32_t> listed_;         // the features of the example that leaves or moves
};

}  // namespace budgetron
