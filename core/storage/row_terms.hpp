// What a row x has in common with the stored examples: the input of the kernel row
// (kernel_row.hpp).
//
// ExampleStore::gather fills it, feature by feature in their order. A feature with a slot is a
// term: the value of x and the slot. A feature with a posting list (posting_lists.hpp) is one hit
// per posting: example, stored value, value of x.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/state.hpp"
#include "simd/kernel_row.hpp"

namespace budgetron {

template <class Real>
struct RowTerms {
  Real norm = 0;                           // ||x||^2 (laplacian: ||x||_1)
  std::vector<Real> term_values;           // the features of x that have a slot ...
  std::vector<std::uint32_t> term_slots;   // ... and where
  std::size_t terms = 0;                   // so many of them
  std::vector<Hit<Real>> hits;             // with features that few examples have ...
  std::vector<std::uint32_t> hits_before;  // ... of which so many before each term, and in all
  std::vector<std::int32_t> listed;        // scratch: features of one example (distances.cpp)
  bool has_hits = false;                   // whether there are any hits
  bool binary = false;                     // of a support in bytes: all values of both are 1

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

}  // namespace budgetron
