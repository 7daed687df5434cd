// What a row x and the stored examples have in common: the input of the kernel row
// (kernel_row.hpp).
//
// ExampleStore::gather fills it, feature by feature in their order. A feature with a slot is a
// term: the value of x and the slot. A feature with a posting list (posting_lists.hpp) is one hit
// per posting: example, stored value, value of x.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/state.hpp"
#include "simd/hash_probe.hpp"
#include "simd/kernel_row.hpp"

namespace budgetron {

template <class Real>
struct RowTerms {
  Real norm = 0;                          // ||x||^2 (laplacian: ||x||_1)
  std::vector<Real> term_values;          // the features of x that have a slot ...
  std::vector<std::uint32_t> term_slots;  // ... and their slots
  std::size_t terms = 0;                  // number of terms
  std::vector<Hit<Real>> hits;            // hits with features in posting lists ...
  // ... and how many of them come before each term, and in total.
  std::vector<std::uint32_t> hits_before;
  std::size_t hit_count = 0;
  std::vector<std::int32_t> listed;  // scratch: features of one example (add_differences)
  bool binary = false;               // the support is in bytes and all common values are 1

  void reserve_terms(std::size_t count) {
    term_values.reserve(count);
    term_slots.reserve(count);
  }
  void visit_state(StateVisitor& visitor) {
    visitor.scratch(term_values);
    visitor.scratch(term_slots);
    visitor.scratch(hits);
    visitor.scratch(hits_before);
    visitor.scratch(listed);
  }
};

// Writes the terms and hits of a row. Its counts are local, not members of the row, so that loops
// keep them in registers.
template <class Real>
class TermWriter {
 public:
  // For at most `most` features. `lists`: some features have posting lists or single values.
  TermWriter(RowTerms<Real>& row, std::size_t most, bool lists) : row_(row), lists_(lists) {
    if (row.term_values.size() < most) {
      row.term_values.resize(most);
      row.term_slots.resize(most);
    }
    if (lists && row.hits_before.size() < most + 1) row.hits_before.resize(most + 1);
  }
  [[nodiscard]] Real* values() { return row_.term_values.data(); }
  [[nodiscard]] std::uint32_t* slots() { return row_.term_slots.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  // Declares that the first `count` terms were written, before all hits.
  void set_count(std::size_t count) {
    count_ = count;
    if (lists_) std::fill_n(row_.hits_before.begin(), count, 0u);
  }
  // Adds a feature of x: with its postings or, if it has none, with its slot.
  void add(Real value, std::uint32_t slot, std::span<const Posting<Real>> few = {}) {
    values()[count_] = value;
    slots()[count_] = slot;
    if (lists_) row_.hits_before[count_] = static_cast<std::uint32_t>(hits_);
    count_ += few.empty();
    if (hits_ + few.size() > row_.hits.size()) [[unlikely]] {
      row_.hits.resize(2 * (hits_ + few.size()));
    }
    Hit<Real>* hit = row_.hits.data() + hits_;
    for (const Posting<Real>& posting : few) *hit++ = {posting.example, posting.value, value};
    hits_ += few.size();
  }
  void finish() {
    row_.terms = count_;
    row_.hit_count = hits_;
    row_.binary = false;
    if (lists_) row_.hits_before[count_] = static_cast<std::uint32_t>(hits_);
  }

 private:
  RowTerms<Real>& row_;
  const bool lists_;
  std::size_t count_ = 0;
  std::size_t hits_ = 0;
};

}  // namespace budgetron
