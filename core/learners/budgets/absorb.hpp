// When full, the new example replaces the stored example r that it approximates best.
//
// The part of a_r k(x_r, .) that x cannot take over is orthogonal to k(x, .) and has squared norm
//
//   |a_r|^2 (k_rr - k_rt^2 / k_tt)
//
// so r is the example where this is least (the oldest if several are equal), and x is stored with
// the projection added to its own coef, a_r k_rt / k_tt + coef. With the PA-I update this is BPA-S
// (Wang & Vucetic 2010): of all ways to replace one example it changes f least.
// Cost: O(B K) to choose, from the kernel row of the round; O(d) to store.
#pragma once

#include <cstdint>
#include <vector>

#include "learners/budgets/budget.hpp"
#include "learners/budgets/lightest.hpp"

namespace budgetron {

template <class Real>
class Absorb final : public Budget<Real> {
 public:
  explicit Absorb(const Spec& spec) : size_(spec.count("size")) {}

  [[nodiscard]] std::size_t capacity() const override { return size_; }
  void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) override {
    if (f.has_room(turn.x)) {
      f.add(turn, coefs);
      return;
    }
    const std::size_t r = least_lost(f, turn);
    const double share = static_cast<double>(turn.row->values[r]) / turn.self;
    joint_.resize(coefs.size());
    for (std::size_t k = 0; k < coefs.size(); ++k) joint_[k] = f.coef(r, k) * share + coefs[k];
    ++absorptions_;
    f.replace(r, turn, joint_, EventKind::project);
  }
  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random&) override {
    while (f.size() > size) f.remove(lightest(f), row);
  }
  void reserve(const Expansion<Real>& f) override {
    losses_.reserve(size_);
    joint_.reserve(f.outputs());
  }
  void visit_state(StateVisitor& visitor) override {
    visitor.field("absorptions", absorptions_);
    visitor.scratch(joint_);
    visitor.scratch(losses_);
  }

 private:
  // The r above.
  std::size_t least_lost(const Expansion<Real>& f, const Turn<Real>& turn) {
    const Real* row = turn.row->values.data();
    if (f.kernel().isotropic()) {  // k_rr = k_tt = 1
      const auto losses = coef_functions<Real>().losses;
      losses_.resize(f.size());
      if (f.outputs() == 1) {
        const double* a = f.stored_coefs(0);
        return f.least_of(losses_, losses(a, row, f.factor(), f.size(), losses_.data()));
      }
      f.coef_sizes(losses_);
      return f.least_of(losses_, losses(losses_.data(), row, 1.0, f.size(), losses_.data()));
    }
    f.coef_sizes(losses_);
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      const double shared = static_cast<double>(row[i]);
      losses_[i] = losses_[i] * losses_[i] * (f.stored_self(i) - shared * shared / turn.self);
    }
    return f.least_of(losses_, row_functions<Real>().least(losses_.data(), losses_.size()));
  }

  std::size_t size_;
  std::int64_t absorptions_ = 0;
  std::vector<double> losses_;  // the loss if i leaves
  std::vector<double> joint_;   // coefs of the new example plus those it took over
};

}  // namespace budgetron
