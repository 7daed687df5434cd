// What a row x and the stored examples have in common: the input of the kernel row
// (kernel_row.hpp).
//
// ExampleStore::gather fills it, feature by feature in their order. A feature with a slot is a
// term: the value of x and the slot. A feature with postings (posting_table.hpp) is one hit per
// posting: example, stored value, value of x.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
  std::vector<Hit<Real>> hits;            // hits with postings ...
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
  // For at most `most` features. `lists`: some features have postings.
  TermWriter(RowTerms<Real>& row, std::size_t most, bool lists) : row_(row), lists_(lists) {
    const std::size_t places = most + lists;  // a hit is also written as a term, not counted
    if (row.term_values.size() < places) {
      row.term_values.resize(places);
      row.term_slots.resize(places);
    }
    if (lists && row.hits_before.size() < places) row.hits_before.resize(places);
  }
  [[nodiscard]] Real* values() { return row_.term_values.data(); }
  [[nodiscard]] std::uint32_t* slots() { return row_.term_slots.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  // Declares that the first `count` terms were written, before all hits.
  void set_count(std::size_t count) {
    count_ = count;
    if (lists_) std::fill_n(row_.hits_before.begin(), count, 0u);
  }
  // Adds a feature of x that has a slot.
  void add(Real value, std::uint32_t slot) {
    values()[count_] = value;
    slots()[count_] = slot;
    if (lists_) row_.hits_before[count_] = static_cast<std::uint32_t>(hits_);
    ++count_;
  }
  // Adds an entry of a feature of x: its slot or one of its postings. It does not branch on which.
  template <class Entry>
  void add(Real value, const Entry& entry) {
    if (!lists_) return add(value, entry.slot());
    if (hits_ == row_.hits.size()) [[unlikely]] {
      row_.hits.resize(2 * hits_ + kLanes);
    }
    values()[count_] = value;
    slots()[count_] = entry.slot();
    row_.hits_before[count_] = static_cast<std::uint32_t>(hits_);
    row_.hits[hits_] = {entry.example(), entry.value(), value};
    count_ += entry.is_slot();
    hits_ += !entry.is_slot();
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
