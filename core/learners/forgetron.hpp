// The Forgetron (Dekel, Shalev-Shwartz & Singer 2008): on a mistake add, shrink by phi, drop one.
//
//   f' = f + y k(x, .) ;  f <- phi f' without r
//
//   basic       phi = min{(B+1)^(-1/(2(B+1))), U/||f'||}, U = sqrt((B+1)/ln(B+1))/4    (25), (26)
//               on every mistake; r = the oldest, if there are more than B
//   self-tuned  only when there are more than B: r = the oldest, phi = the largest in (0, 1] with
//               Psi(s phi, mu phi) + Q <= (15/32) M, where s = |a_r|, mu = sign(a_r) f'(x_r),
//               Psi(l, m) = l^2 k_rr + 2 l - 2 l m (15), M counts y f <= 0, Q sums Psi   (42)
//   greedy      the same, but r = the old example with the least Psi(|a_i|, sign(a_i) f'(x_i)) if
//               that is <= 15/32, the oldest otherwise                                  (52)
//
// The update decides when there is a mistake and which coef it adds. Regression uses the tube
// update: M counts its errors, f' = f + step sign(error) k(x, .), and mu = |f'(x_r)|, because an
// example has no label there. Regression has no "basic".
//
// Psi(s phi, mu phi) = a phi^2 + b phi with a = s^2 k_rr - 2 s mu and b = 2 s, so phi is the root
// -2c/(b + sqrt(b^2 - 4ac)), c = Q - (15/32) M < 0, for either sign of a; 1 if a + b + c <= 0.
//
// Cost: only on mistakes. basic keeps the norm and self-tuned needs f'(x_r): one more kernel row
// once the budget is full. greedy keeps the Gram matrix: O(B^2) on mistakes, B^2/2 Reals.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/spec.hpp"
#include "learners/learner.hpp"
#include "learners/updates/update.hpp"

namespace budgetron {

template <class Real>
class Forgetron final : public ExpansionLearner<Real> {
 public:
  Forgetron(const Spec& spec, std::size_t outputs)
      : ExpansionLearner<Real>(make_kernel(spec.part("kernel")), outputs, spec.count("size")),
        update_(make_update(spec.part("update"))),
        size_(spec.count("size")),
        variant_(read_variant(spec.text("variant"))),
        signed_(spec.flag("signed")) {
    if (variant_ == Variant::basic) f_.keep_norm();
    if (variant_ == Variant::greedy) f_.keep_gram();
  }

  bool learn(const Turn<Real>& turn) override {
    const Move move = update_->move(turn);
    if (!move.store) return false;
    coefs_.resize(turn.direction.size());
    for (std::size_t k = 0; k < coefs_.size(); ++k) coefs_[k] = move.coef * turn.direction[k];
    ++errors_;
    this->make_room(turn);
    const bool full = !f_.has_room(turn.x);
    if (variant_ == Variant::basic) {
      enter(turn, worst_case_shrink(turn), full, f_.oldest());
    } else if (full) {
      const Removal removal = variant_ == Variant::greedy ? cheapest(turn) : oldest(turn);
      const double phi = gentlest_shrink(removal);
      spent_ += (removal.a * phi + removal.b) * phi;
      enter(turn, phi, true, removal.r);
    } else {
      enter(turn, 1.0, false, 0);
    }
    return true;
  }

  void reserve(const ByteLimit& limit) override {
    f_.reserve(limit);
    if (variant_ == Variant::self_tuned) f_.reserve_row(side_);
    values_.reserve(f_.outputs() * (variant_ == Variant::greedy ? size_ : 1));
    coefs_.reserve(f_.outputs());
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this) + update_->object_bytes);
    visitor.part("expansion", f_);
    visitor.part("update", *update_);
    visitor.field("errors", errors_);
    visitor.field("spent", spent_);
    visitor.field("shrinks", shrinks_);
    visitor.field("removals", removals_);
    visitor.field("bargains", bargains_);
    visitor.part("side", side_);
    visitor.scratch(values_);
    visitor.scratch(coefs_);
  }

 private:
  using ExpansionLearner<Real>::f_;
  enum class Variant { basic, self_tuned, greedy };
  static constexpr double kShare = 15.0 / 32.0;  // the damage that one mistake allows, (41)

  // Dropping r from phi f' costs a phi^2 + b phi.
  struct Removal {
    std::size_t r;
    double a;
    double b;
    [[nodiscard]] double unshrunk() const { return a + b; }
  };

  static Variant read_variant(const std::string& name) {
    if (name == "basic") return Variant::basic;
    if (name == "self-tuned") return Variant::self_tuned;
    if (name == "greedy") return Variant::greedy;
    throw std::invalid_argument("no Forgetron is called '" + name + "'");
  }

  double worst_case_shrink(const Turn<Real>& turn) const {
    const double places = static_cast<double>(size_) + 1.0;
    const double phi = std::pow(places, -0.5 / places);
    const double radius = 0.25 * std::sqrt(places / std::log(places));
    // ||f'||^2 = ||f||^2 + 2 y f(x) + k(x, x); for a row of weight w with w y in place of y
    const double w = turn.weight;
    const double norm =
        std::sqrt(std::max(0.0, f_.squared_norm() + w * (2.0 * turn.margin + w * turn.self)));
    return norm > 0.0 ? std::min(phi, radius / norm) : phi;
  }

  double gentlest_shrink(const Removal& removal) const {
    const double a = removal.a;
    const double b = removal.b;
    const double c = spent_ - kShare * static_cast<double>(errors_);
    return a + b + c <= 0.0 ? 1.0 : -2.0 * c / (b + std::sqrt(std::max(0.0, b * b - 4.0 * a * c)));
  }

  Removal oldest(const Turn<Real>& turn) {
    const std::size_t r = f_.oldest();
    f_.row_of_stored(r, side_);
    values_.resize(f_.outputs());
    f_.decide(side_, values_);
    return removal(turn, r, 0, 1);
  }

  Removal cheapest(const Turn<Real>& turn) {
    f_.decide_stored(values_);
    const auto price = [&](std::size_t i) { return removal(turn, i, i, f_.size()).unshrunk(); };
    const std::size_t i = f_.least(price);
    const Removal best = removal(turn, i, i, f_.size());
    if (best.unshrunk() <= kShare) {
      ++bargains_;
      return best;
    }
    const std::size_t r = f_.oldest();
    return removal(turn, r, r, f_.size());
  }

  // f(x_r), output k, is at values_[k * stride + at].
  Removal removal(const Turn<Real>& turn, std::size_t r, std::size_t at, std::size_t stride) const {
    const double k_r = static_cast<double>(turn.row->values[r]);
    double product = 0.0;  // <a_r, f'(x_r)> = s mu
    for (std::size_t k = 0; k < f_.outputs(); ++k) {
      product += f_.coef(r, k) * (values_[k * stride + at] + coefs_[k] * k_r);
    }
    if (f_.outputs() > 1) product *= 2.0;
    if (!signed_) product = std::abs(product);
    const double s = f_.coef_size(r);
    return {r, s * s * f_.stored_self(r) - 2.0 * product, 2.0 * s};
  }

  // f <- phi (f + y k(x, .)), in the place of r if the budget is full.
  void enter(const Turn<Real>& turn, double phi, bool full, std::size_t r) {
    shrinks_ += phi < 1.0;
    f_.scale(phi);
    for (double& coef : coefs_) coef *= phi;
    removals_ += full;
    if (full) {
      f_.replace(r, turn, coefs_);
    } else {
      f_.add(turn, coefs_);
    }
  }

  std::unique_ptr<Update> update_;
  std::size_t size_;
  Variant variant_;
  bool signed_;                 // mu = sign(a_r) f'(x_r), not |f'(x_r)|
  std::int64_t errors_ = 0;     // M
  double spent_ = 0.0;          // Q
  std::int64_t shrinks_ = 0;    // rounds with phi < 1
  std::int64_t removals_ = 0;   // rounds in which an example left
  std::int64_t bargains_ = 0;   // greedy: those of them that took the cheapest
  Row<Real> side_;              // the row of x_r
  std::vector<double> values_;  // f(x_r), or f(x_i) at every x_i
  std::vector<double> coefs_;   // what the new example adds: y, then phi y
};

}  // namespace budgetron
