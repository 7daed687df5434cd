// Budgets: the only place of a round that adds, drops, projects, merges, halves or covers.
//
// Contract of admit: afterwards size <= capacity(), the examples it kept and the new one (unless it
// was turned away, which refusals() counts) carry the hypothesis, and while there is room it adds
// exactly (x, coefs) and touches nothing else.
//
// With a byte limit (byte_limit.hpp) room also means slots for the features of x: budgets ask
// `has_room`. If the example that leaves frees too few slots, the rule removes another.
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

  // The most examples this budget ever stores; 0 = no limit.
  [[nodiscard]] virtual std::size_t capacity() const = 0;
  // What it needs the expansion to keep (norm, Gram matrix, distances).
  virtual void prepare(Expansion<Real>&) const {}
  virtual void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) = 0;
  // How many newcomers it refused, leaving f unchanged.
  [[nodiscard]] virtual std::int64_t refusals() const { return 0; }
  // Removes examples down to `size`, by its own rule or the oldest first.
  virtual void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random&) {
    while (f.size() > size) f.remove(f.oldest(), row);
  }
  // The examples of f were converted to other units: what it keeps beside f follows.
  virtual void follow_units(const Expansion<Real>&) {}
  // Allocates all the memory it will ever need; f has allocated its own.
  virtual void reserve(const Expansion<Real>&) {}
  virtual void visit_state(StateVisitor&) {}
  // After loading: what it keeps beside f must be of f's size (`require`).
  virtual void check_loaded(const Expansion<Real>&) const {}
  // Recomputes what it keeps beside f and throws std::logic_error where it differs.
  virtual void check_invariants(const Expansion<Real>&) const {}

  std::size_t object_bytes = 0;  // of the object itself, whichever it is; its maker knows
};

// Makes a budget by its name; one file per family in budgets/.
template <class Real>
std::unique_ptr<Budget<Real>> make_budget(const Spec& spec);

}  // namespace budgetron
