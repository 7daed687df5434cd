// The stored examples, feature-major: value j of example i in slot(j), column i (columns.hpp).
//
// A feature gets a slot when it first occurs in a stored example and gives it back when the last
// example that has it leaves, so memory follows what is stored. A dense example counts as having
// all its features, zeros too. Examples sit in columns 0..size-1; removing one moves the last into
// its place.
//
// A feature that few sparse examples have is thin: a list of their values instead of a slot, so
// that memory follows the values and not the features times the examples. It gets a slot when more
// than one in kThinShare columns have it, or a dense example does; sums take terms in the same
// order either way, so which it is changes no bit. Not with the Laplacian, which sums over all
// examples.
//
// Invariants: padding columns and absent features are 0; references[s] counts the examples that
// have slot s; norms[i] is the norm of column i by the row's own arithmetic.
//
// With a room (room.hpp) all memory is taken in advance and slots are limited. Which features an
// example has is then not listed but read from its column: the slots where it is not 0.
//
// Cost: append, replace, remove and extract are O(features of the example), with a room O(slots);
// growing is O(all).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "columns.hpp"
#include "kernel.hpp"
#include "postings.hpp"
#include "room.hpp"
#include "sample.hpp"
#include "slots.hpp"
#include "state.hpp"
#include "turn.hpp"

namespace budgetron {

template <class Real>
class Support {
 public:
  // `l1` keeps ||x||_1 instead of ||x||^2 as the norm (Laplacian kernel).
  explicit Support(bool l1) : l1_(l1), columns_(!l1) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] const Columns<Real>& columns() const { return columns_; }
  [[nodiscard]] const Real* norms() const { return norms_.data(); }
  [[nodiscard]] const std::uint8_t* byte_norms() const { return byte_norms_.data(); }
  [[nodiscard]] double largest_norm() const { return largest_norm_; }
  [[nodiscard]] bool l1() const { return l1_; }

  // When what changed, for those who computed something from it: the time now, the time at which
  // one of the examples [kLanes group, kLanes (group + 1)) came last, and at which slots moved.
  [[nodiscard]] std::uint64_t clock() const { return clock_; }
  [[nodiscard]] std::uint64_t changed(std::size_t group) const { return changed_[group]; }
  [[nodiscard]] std::uint64_t slots_moved() const { return slots_moved_; }
  // Slots of the features 0, 1, ..., as far as they are looked up directly.
  [[nodiscard]] const std::vector<std::uint32_t>& direct_slots() const { return slots_.direct(); }
  // ||x_i||^2, which with `l1` is kept beside the norm only on request.
  void keep_squared_norms() { keeps_squares_ = l1_; }
  [[nodiscard]] const Real* squared_norms() const {
    return l1_ ? squared_norms_.data() : norms_.data();
  }

  // The norm and the terms of x: what the row routine multiplies.
  void gather(const Sample<Real>& x, Row<Real>& row) const;

  void reserve(std::size_t examples);
  // Takes all memory there will be, for so many examples. Precondition: empty.
  void reserve_all(std::size_t examples, const Room& room);
  // Whether the features of x find slots: beside what is stored, in the place of example i, alone.
  [[nodiscard]] bool fits(const Sample<Real>& x) const;
  [[nodiscard]] bool fits_instead(std::size_t i, const Sample<Real>& x) const;
  [[nodiscard]] bool fits_alone(const Sample<Real>& x) const;
  [[nodiscard]] std::size_t features() const {  // that have a slot
    return references_.size() - free_.size() - (l1_ && !references_.empty() ? 1 : 0) +
           thin_features();
  }
  [[nodiscard]] std::size_t thin() const { return thin_; }  // values of thin features
  [[nodiscard]] const Posting<Real>* postings() const { return postings_.data(); }
  // The value of stored example i in this slot, or thin slot, of a feature.
  [[nodiscard]] Real value(std::uint32_t slot, std::size_t i) const {
    if ((slot & kThin) == 0) return columns_.at(slot, i);
    const std::int32_t feature = postings_[slot].feature;
    while (slot != kNoSlot && postings_[slot].example != i) {
      slot = postings_.seek(postings_[slot].next, feature);
    }
    return slot == kNoSlot ? Real(0) : postings_[slot].value;
  }
  // How many terms `gather` finds at most, and values `extract`. With a room.
  [[nodiscard]] std::size_t most_terms() const { return l1_ ? room_.width : most_values(); }
  [[nodiscard]] std::size_t most_values() const { return std::min(room_.width, room_.slots); }
  void append(const Sample<Real>& x);
  void replace(std::size_t i, const Sample<Real>& x);
  void remove(std::size_t i);
  void extract(std::size_t i, OwnedSample<Real>& out) const;
  [[nodiscard]] Real norm_of(const Sample<Real>& x) const;

  void visit_state(StateVisitor& visitor);
  // Recomputes everything kept up to date and throws std::logic_error where it differs.
  void check_invariants() const;

 private:
  static constexpr std::int32_t kSparse = -1;

  static constexpr std::size_t kThinShare = 32;
  [[nodiscard]] bool may_be_thin() const { return !l1_ && !room_.given(); }
  // Whether it is found in a bucket of the postings, not among the slots.
  [[nodiscard]] bool in_bucket(std::int32_t feature) const {
    return static_cast<std::size_t>(feature) >= Slots::kDirect && !room_.given();
  }
  // Its slot, kThin | its first posting, or Slots::kNone.
  [[nodiscard]] std::uint32_t find(std::int32_t feature) const {
    return in_bucket(feature) ? postings_.find(feature) : slots_.find(feature);
  }
  [[nodiscard]] std::size_t thin_features() const;
  std::size_t gather_from_buckets(const Sample<Real>& x, std::size_t k, Row<Real>& row,
                                  std::size_t terms) const;
  std::uint32_t new_slot(std::int32_t feature);
  void add_posting(std::int32_t feature, std::size_t i, Real value);
  bool give_up(std::uint32_t slot, std::size_t i);
  std::uint32_t fatten(std::int32_t feature);
  // Example i has this value of the feature; no longer has it; has column `to` instead.
  void put(std::int32_t feature, std::size_t i, Real value, bool thin);
  void drop(std::int32_t feature, std::size_t i);
  void move(std::int32_t feature, std::size_t i, std::size_t to);
  void drop_from_buckets(std::span<const std::int32_t> features, std::size_t i);
  void occupy(std::size_t i, const Sample<Real>& x);
  void occupy_sparse(std::size_t i, const Sample<Real>& x);
  void vacate(std::size_t i);
  void set_norms(std::size_t i, const Sample<Real>& x);
  void mark(std::size_t i) { changed_[i / kLanes] = ++clock_; }  // another example is there
  // Stored with all its features, zeros too; else without its zeros.
  [[nodiscard]] bool whole(const Sample<Real>& x) const {
    return x.dense() && (!room_.given() || room_.all());
  }
  [[nodiscard]] std::size_t strangers(const Sample<Real>& x) const;
  [[nodiscard]] std::size_t free_slots() const;
  [[nodiscard]] bool in_width(const Sample<Real>& x) const;
  void list_features(std::size_t i, std::vector<std::int32_t>& out) const;
  // In their order; `listed` is where a column is read into, which takes turns with no one.
  template <class Visit>
  void for_each_feature(std::size_t i, std::vector<std::int32_t>& listed, Visit visit) const {
    if (widths_[i] == kSparse && room_.given()) {
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
  Columns<Real> columns_;
  AlignedVector<Real> norms_;
  AlignedVector<std::uint8_t>
      byte_norms_;                     // the same as far as bytes hold them, of columns of bytes
  AlignedVector<Real> squared_norms_;  // only if keeps_squares_
  std::uint64_t clock_ = 0;
  std::uint64_t slots_moved_ = 0;
  std::vector<std::uint64_t> changed_;  // per kLanes examples
  Slots slots_;
  std::vector<std::uint32_t> references_;  // per slot
  std::vector<std::uint32_t> free_;        // slots without references
  Postings<Real> postings_;                // of thin features, and where large features are
  std::size_t thin_ = 0;                   // values of thin features
  std::vector<std::int32_t> widths_;       // per example: its width if dense, else kSparse
  std::vector<std::vector<std::int32_t>> features_;  // per example: its features if sparse
  // With a room, instead:
  Room room_;
  std::vector<std::int32_t> slot_features_;  // per slot
  std::vector<std::int32_t> listed_;         // the features of the example that leaves or moves
};

}  // namespace budgetron
