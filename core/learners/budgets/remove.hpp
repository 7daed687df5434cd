// When full, one of the B stored examples and the new one leaves; the others keep their coefs.
//
//   remove-oldest    the oldest (Dekel et al. 2008, section 3)
//   remove-random    one of the B stored, uniformly (Cavallanti, Cesa-Bianchi & Gentile 2007)
//   remove-margin    the one with the largest y_i (f' - a_i k(x_i, .))(x_i), f' after the addition:
//                    classified best without itself (Crammer, Kandola & Singer 2003)
//   remove-smallest  the one with the least ||a_i k(x_i, .)|| = |a_i| sqrt(k_ii): dropping it moves
//                    f least (Wang, Crammer & Vucetic 2012, BSGD)
//   refuse           always the new one
//
// The new example takes the place of the one that leaves. If several are equal the oldest leaves,
// so the new one leaves only if it is strictly first; then f does not change.
// Cost: O(d) to store, and O(B) to choose; remove-margin O(B^2), from a Gram matrix of B^2/2 Reals.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "learners/budgets/budget.hpp"
#include "learners/budgets/lightest.hpp"

namespace budgetron {

template <class Real>
class Remove : public Budget<Real> {
 public:
  explicit Remove(const Spec& spec) : size_(spec.count("size")) {}

  [[nodiscard]] std::size_t capacity() const override { return size_; }
  [[nodiscard]] std::int64_t refusals() const override { return refusals_; }
  void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) override {
    if (f.has_room(turn.x)) {
      f.add(turn, coefs);
      return;
    }
    const std::size_t i = leaver(f, turn, coefs);
    if (i == f.size()) {
      ++refusals_;
      f.report(EventKind::refuse, turn, coefs);
    } else {
      ++removals_;
      f.replace(i, turn, coefs);
    }
  }
  void visit_state(StateVisitor& visitor) override {
    visitor.field("removals", removals_);
    visitor.field("refusals", refusals_);
  }

 protected:
  // Which stored example leaves, or f.size() for the new one. Called only when full.
  virtual std::size_t leaver(const Expansion<Real>& f, const Turn<Real>& turn,
                             std::span<const double> coefs) = 0;

 private:
  std::size_t size_;
  std::int64_t removals_ = 0;
  std::int64_t refusals_ = 0;
};

template <class Real>
class RemoveOldest final : public Remove<Real> {
 public:
  using Remove<Real>::Remove;

 protected:
  std::size_t leaver(const Expansion<Real>& f, const Turn<Real>&,
                     std::span<const double>) override {
    return f.oldest();
  }
};

template <class Real>
class RemoveRandom final : public Remove<Real> {
 public:
  using Remove<Real>::Remove;

  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random& random) override {
    while (f.size() > size) f.remove(random.below(f.size()), row);
  }

 protected:
  std::size_t leaver(const Expansion<Real>& f, const Turn<Real>& turn,
                     std::span<const double>) override {
    return turn.random->below(f.size());
  }
};

template <class Real>
class RemoveMargin final : public Remove<Real> {
 public:
  using Remove<Real>::Remove;

  void prepare(Expansion<Real>& f) const override { f.keep_gram(); }
  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random&) override {
    while (f.size() > size) {
      multiply(f, nullptr, {});
      f.remove(surest(f), row);
    }
  }
  void reserve(const Expansion<Real>& f) override {
    for (auto* numbers : {&coefs_, &values_, &products_, &squares_}) {
      numbers->reserve(f.capacity() + 1);
    }
  }
  void visit_state(StateVisitor& visitor) override {
    Remove<Real>::visit_state(visitor);
    visitor.scratch(coefs_);
    visitor.scratch(values_);
    visitor.scratch(products_);
    visitor.scratch(squares_);
  }

 protected:
  std::size_t leaver(const Expansion<Real>& f, const Turn<Real>& turn,
                     std::span<const double> coefs) override {
    multiply(f, &turn, coefs);
    const std::size_t newcomer = f.size();
    const std::size_t i = surest(f);
    const double surest_margin = margin_without(f, i, f.stored_self(i));
    return margin_without(f, newcomer, turn.self) > surest_margin ? newcomer : i;
  }

 private:
  // Among the stored examples, without the new one.
  [[nodiscard]] std::size_t surest(const Expansion<Real>& f) const {
    return f.least([&](std::size_t i) { return -margin_without(f, i, f.stored_self(i)); });
  }
  // y_i (f' - a_i k(x_i, .))(x_i) = <a_i, f'(x_i)>/|a_i| - |a_i| k_ii
  [[nodiscard]] double margin_without(const Expansion<Real>& f, std::size_t i, double self) const {
    const double weight = f.outputs() == 1 ? 1.0 : 2.0;
    const double size = std::sqrt(weight * squares_[i]);
    if (size == 0.0) return std::numeric_limits<double>::infinity();  // f does not depend on it
    return weight * products_[i] / size - size * self;
  }

  // Products and squares of the stored examples and of the new one, if there is one, at the end.
  void multiply(const Expansion<Real>& f, const Turn<Real>* turn, std::span<const double> coefs) {
    const std::size_t n = f.size();
    const std::size_t all = turn != nullptr ? n + 1 : n;
    products_.assign(all, 0.0);
    squares_.assign(all, 0.0);
    coefs_.resize(all);
    for (std::size_t k = 0; k < f.outputs(); ++k) {
      for (std::size_t i = 0; i < n; ++i) coefs_[i] = f.coef(i, k);
      if (turn != nullptr) coefs_[n] = coefs[k];
      evaluate(f, turn);
      for (std::size_t i = 0; i < all; ++i) {
        products_[i] += coefs_[i] * values_[i];
        squares_[i] += coefs_[i] * coefs_[i];
      }
    }
  }

  // values_[i] = sum_j a_j k(x_i, x_j) over the stored examples and the new one: one pass over the
  // rows of the lower triangle. Every sum takes its terms in the order of j, so copies of one
  // example are exactly equal.
  void evaluate(const Expansion<Real>& f, const Turn<Real>* turn) {
    const std::size_t n = f.size();
    values_.resize(coefs_.size());
    for (std::size_t i = 0; i < coefs_.size(); ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < i; ++j) {
        const auto kernel = static_cast<double>(i < n ? f.gram(i, j) : turn->row->values[j]);
        sum += coefs_[j] * kernel;
        values_[j] += coefs_[i] * kernel;
      }
      values_[i] = sum + coefs_[i] * (i < n ? f.stored_self(i) : turn->self);
    }
  }

  std::vector<double> coefs_;     // one output of a_i
  std::vector<double> values_;    // the same output of f'(x_i)
  std::vector<double> products_;  // <a_i, f'(x_i)>, without the factor of K > 1 outputs
  std::vector<double> squares_;   // <a_i, a_i>, the same
};

template <class Real>
class RemoveSmallest final : public Remove<Real> {
 public:
  using Remove<Real>::Remove;

  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random&) override {
    while (f.size() > size) f.remove(lightest(f), row);
  }
  void reserve(const Expansion<Real>&) override { weights_.reserve(this->capacity()); }
  void visit_state(StateVisitor& visitor) override {
    Remove<Real>::visit_state(visitor);
    weights_.visit_state(visitor);
  }

 protected:
  std::size_t leaver(const Expansion<Real>& f, const Turn<Real>& turn,
                     std::span<const double> coefs) override {
    return lightest(f, turn, coefs, weights_);
  }

 private:
  Weights weights_;
};

template <class Real>
class Refuse final : public Remove<Real> {
 public:
  using Remove<Real>::Remove;

  [[nodiscard]] bool drops() const override { return false; }

 protected:
  std::size_t leaver(const Expansion<Real>& f, const Turn<Real>&,
                     std::span<const double>) override {
    return f.size();
  }
};

}  // namespace budgetron
