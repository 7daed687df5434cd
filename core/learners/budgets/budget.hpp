// Budgets: the only place of a round that adds, drops, projects, merges, halves or covers.
//
// Contract of admit: afterwards size <= capacity(), and the examples that stay and the new one
// (unless it was refused, which refusals() counts) represent the hypothesis. While there is room it
// adds exactly (x, coefs) and touches nothing else.
//
// admit does not deal with a byte limit (byte_limit.hpp): before it is called, Round uses
// `lower_to` to drop examples until the features of x fit. Budgets that never drop stored examples
// say so (`drops`) and treat a row that does not fit like one beyond the budget (`has_room`).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/spec.hpp"
#include "hypothesis/expansion.hpp"
#include "hypothesis/turn.hpp"

namespace budgetron {

template <class Real>
class Budget {
 public:
  virtual ~Budget() = default;

  // The most examples this budget ever stores; 0: no limit.
  [[nodiscard]] virtual std::size_t capacity() const = 0;
  // Tells the expansion what to keep (norm, Gram matrix, distances).
  virtual void prepare(Expansion<Real>&) const {}
  virtual void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) = 0;
  // How many new examples it refused, leaving f unchanged.
  [[nodiscard]] virtual std::int64_t refusals() const { return 0; }
  // Whether stored examples may be dropped to make a row fit into a byte limit.
  [[nodiscard]] virtual bool drops() const { return true; }
  // Removes examples down to `size`, by its own rule or the oldest first.
  virtual void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random&) {
    while (f.size() > size) f.remove(f.oldest(), row);
  }
  // The examples of f were converted to other units: updates what the budget keeps beside f.
  virtual void follow_units(const Expansion<Real>&) {}
  // Allocates all the memory it will ever need; f has already allocated its own.
  virtual void reserve(const Expansion<Real>&) {}
  virtual void visit_state(StateVisitor&) {}
  // Call after loading: what it keeps beside f must have f's size (`require`).
  virtual void check_loaded(const Expansion<Real>&) const {}
  // Recomputes what it keeps beside f; throws std::logic_error if it differs.
  virtual void check_invariants(const Expansion<Real>&) const {}

  std::size_t object_bytes = 0;  // of the object itself, set by its maker
};

// Makes a budget by its name; one file per family in budgets/.
template <class Real>
std::unique_ptr<Budget<Real>> make_budget(const Spec& spec);

}  // namespace budgetron
