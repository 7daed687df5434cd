// The self-tuned Forgetron in a block (core/learners/forgetron.hpp): a mistake adds (x, y); when
// the budget is full, f shrinks by phi, as little as the rule allows, and the oldest example
// leaves.
//
// Examples are ordered by age. M and Q belong to the model. An example that leaves because another
// key needs room is dropped without shrinking: Q does not count it.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "fleet/small_learner.hpp"

namespace budgetron {

class SmallForgetron final : public SmallLearner {
 public:
  SmallForgetron(std::size_t budget, std::size_t width, std::size_t outputs)
      : SmallLearner(budget, width, outputs), oldest_(width), row_(budget + 32) {}

  [[nodiscard]] std::size_t extra_bytes() const override { return sizeof(Extra); }
  [[nodiscard]] bool sound(const Block& block) const override {
    const Extra& extra = *block.extra<Extra>();
    return std::isfinite(extra.spent) && extra.errors >= 0.0 && std::isfinite(extra.errors);
  }

  Wish wish(const Block& block, const Sight& sight) override {
    if (sight.margin > 0.0) return Wish::nothing;
    return block.size() < budget_ ? Wish::grow : Wish::change;
  }
  void grow(const Block& block, const Sight& sight) override {
    block.extra<Extra>()->errors += 1.0;
    block.put(block.size() - 1, sight.x, sight.direction);
  }
  void change(const Block& block, const Sight& sight) override {
    Extra& extra = *block.extra<Extra>();
    extra.errors += 1.0;
    const std::size_t n = block.size();
    block.get(0, oldest_.data());
    fill_row(block, oldest_.data(), sight.scales, row_.data());
    double* const coefs = block.coefs();
    double product = 0.0;  // <a_r, f'(x_r)>
    for (std::size_t k = 0; k < outputs_; ++k) {
      double value = sight.direction[k] * static_cast<double>(sight.row[0]);
      for (std::size_t i = 0; i < n; ++i) {
        value += coefs[k * n + i] * static_cast<double>(row_[i]);
      }
      product += coefs[k * n] * value;
    }
    if (outputs_ > 1) product *= 2.0;
    const double square = block.squared_coef(0);
    const double a = square - 2.0 * product;
    const double b = 2.0 * std::sqrt(square);
    const double c = extra.spent - kShare * extra.errors;
    const double phi =
        a + b + c <= 0.0 ? 1.0 : -2.0 * c / (b + std::sqrt(std::max(0.0, b * b - 4.0 * a * c)));
    extra.spent += (a * phi + b) * phi;
    for (std::size_t i = 0; i < n * outputs_; ++i) coefs[i] *= phi;
    set_coefs(sight, phi);
    block.shift_in(sight.x, coefs_);
  }

 private:
  static constexpr double kShare = 15.0 / 32.0;  // the damage that one mistake allows

  struct Extra {
    double errors;  // M
    double spent;   // Q
  };

  std::vector<float> oldest_;
  std::vector<float> row_;
};

}  // namespace budgetron
