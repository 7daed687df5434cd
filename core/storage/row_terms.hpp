// What a row x and the stored examples have in common: the input of the kernel row
// (kernel_row.hpp).
//
// ExampleStore::gather fills it, feature by feature in their order. A feature with a slot is a
// term: the value of x and the slot. A feature with postings (posting_table.hpp) is one hit per
// posting: example, stored value, value of x.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/state.hpp"
#include "simd/kernel_row.hpp"

namespace budgetron {

template <class Real>
struct RowTerms {
  Real norm = 0;                          // ||x||^2 (laplacian: ||x||_1)
  std::vector<Real> term_values;          // the features of x that have a slot ...
  std::vector<std::uint32_t> term_slots;  // ... and their slots
  std::size_t terms = 0;                  // number of terms
  std::vector<Hit<Real>> hits;            // hits with postings
  std::size_t hit_count = 0;
  std::vector<std::int32_t> listed;  // scratch: features of one example (add_differences)
  bool binary = false;  // the support is in bytes, and x has fewer than 256 values, all 1

  void reserve_terms(std::size_t count) {
    term_values.reserve(count);
    term_slots.reserve(count);
  }
  void visit_state(StateVisitor& visitor) {
    visitor.scratch(term_values);
    visitor.scratch(term_slots);
    visitor.scratch(hits);
    visitor.scratch(listed);
  }
};

// Writes the terms and hits of a row. Its counts are local, not members of the row, so that loops
// keep them in registers. What is written behind the last term does not count.
template <class Real>
class TermWriter {
 public:
  TermWriter(RowTerms<Real>& row, std::size_t most_terms) : row_(row) {
    if (row.term_values.size() >= most_terms) return;
    row.term_slots.resize(most_terms);
    row.term_values.resize(most_terms);
  }
  // Declares that the first `count` terms were written.
  void set_count(std::size_t count) { count_ = count; }
  // Adds a feature of x; not if it has no slot.
  void add(Real value, std::uint32_t slot) {
    row_.term_values[count_] = value;
    row_.term_slots[count_] = slot;
    count_ += slot != kNoSlot;
  }
  // Adds an entry of a feature of x: its slot or one of its postings, if there are any. It does not
  // branch on which.
  template <class Entry>
  void add_entry(Real value, const Entry& entry) {
    if (hits_ == row_.hits.size()) [[unlikely]] {
      if (entry.is_slot()) return add(value, entry.slot());
      row_.hits.resize(2 * hits_ + kLanes);
    }
    row_.hits[hits_] = {static_cast<std::uint32_t>(count_), entry.example(), entry.value(), value};
    hits_ += !entry.is_slot();
    add(value, entry.is_slot() ? entry.slot() : kNoSlot);
  }
  void finish() {
    row_.terms = count_;
    row_.hit_count = hits_;
    row_.binary = false;
  }

 private:
  RowTerms<Real>& row_;
  std::size_t count_ = 0;
  std::size_t hits_ = 0;
};

}  // namespace budgetron
