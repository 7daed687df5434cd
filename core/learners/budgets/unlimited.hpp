// No budget: everything is stored. Amortised O(d) per example.
#pragma once

#include "learners/budgets/budget.hpp"

namespace budgetron {

template <class Real>
class Unlimited final : public Budget<Real> {
 public:
  explicit Unlimited(const Spec&) {}
  [[nodiscard]] std::size_t capacity() const override { return 0; }
  void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) override {
    f.add(turn, coefs);
  }
};

}  // namespace budgetron
