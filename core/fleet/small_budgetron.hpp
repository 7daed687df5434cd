// Budgetron in a block (core/learners/budgetron.hpp) with a diagonal straight part, without reflex
// and drift: a Gaussian belief over the coefs of the stored examples, and one over every weight.
//
//   l = max(1, w) - margin; regression: l = |e|.  If l <= 0 nothing happens.
//   On a mistake (regression: |e| above its running mean), if there is room and x is new: admit x
//   with  d = Kinv k,  delta2 = 1 + jitter - k.d
//   s = D_0 + sum_j D_j x_j^2 + k'Pk ;  everything moves by l/(s + r) times its share of s
//
// P = U D U' is stored as a float32 triangle and stays positive definite (covariance.hpp); updates
// are computed in float64. Kinv is not stored: a row that may be stored recomputes it from the
// examples, O(n^2 (n + d)) on mistakes only, so it is right in any units.
//
// When another key needs room, the example leaves whose coef is the least certain to differ from 0,
// a_i^2/P_ii; the belief is conditioned on a_i = 0. A full model replaces nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "fleet/small_learner.hpp"
#include "hypothesis/gram_factor.hpp"

namespace budgetron {

class SmallBudgetron final : public SmallLearner {
 public:
  SmallBudgetron(const Spec& spec, std::size_t budget, std::size_t width, std::size_t outputs)
      : SmallLearner(budget, width, outputs),
        r_(spec.number("r")),
        jitter_(spec.number("jitter")),
        floor_(spec.number("floor")),
        straight_(spec.flag("straight")),
        regresses_(spec.flag("regression")),
        x_(width),
        row_(budget + 32),
        gram_(budget * budget),
        solved_(budget),
        gain_(budget + 1),
        factor_((budget + 1) * (budget + 2) / 2),
        kernel_(budget + 1) {}

  [[nodiscard]] std::size_t extra_bytes() const override {
    return straight_ ? (sizeof(float) * (width_ + 1) * (outputs_ + 1) + 7) / 8 * 8 : 0;
  }
  [[nodiscard]] bool triangular() const override { return true; }
  [[nodiscard]] bool has_empty() const override { return straight_; }
  [[nodiscard]] bool sound(const Block& block) const override {
    const float* numbers = block.triangle();
    for (std::size_t j = 0; j < block.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if (!std::isfinite(*numbers++)) return false;
      }
      if (!(*numbers > 0.0F) || !std::isfinite(*numbers)) return false;
      ++numbers;
    }
    for (std::size_t j = 0; straight_ && j < (width_ + 1) * (outputs_ + 1); ++j) {
      const float number = block.extra<float>()[j];
      if (!std::isfinite(number) || (j <= width_ && number < 0.0F)) return false;
    }
    return true;
  }

  Wish wish(const Block& block, const Sight& sight) override {
    loss_ = regresses_ ? -sight.margin : std::max(1.0, sight.weight) - sight.margin;
    if (!(loss_ > 0.0)) return Wish::nothing;
    const bool wrong = regresses_ ? loss_ > sight.usual : sight.margin <= 0.0;
    if (wrong && block.size() < budget_ && novel(block, sight)) return Wish::grow;
    return block.size() > 0 || straight_ ? Wish::change : Wish::nothing;
  }

  void begin(const Block& block, const Sight& sight) override {
    if (!straight_) return;
    float* const variances = block.extra<float>();
    variances[0] = static_cast<float>(0.1 * sight.tau);
    for (std::size_t j = 0; j < width_; ++j) {
      variances[1 + j] = static_cast<float>(sight.tau * sight.priors[j]);
    }
  }

  void grow(const Block& block, const Sight& sight) override {
    const std::size_t n = block.size() - 1;
    if (n == 0 && straight_ && block.extra<float>()[0] == 0.0F) begin(block, sight);
    std::fill(coefs_.begin(), coefs_.end(), 0.0);
    block.put(n, sight.x, coefs_);
    float* const column = block.triangle() + n * (n + 1) / 2;
    for (std::size_t i = 0; i < n; ++i) column[i] = static_cast<float>(-solved_[i]);
    column[n] = static_cast<float>(1.0 / delta2_);
    for (std::size_t i = 0; i < n; ++i) kernel_[i] = static_cast<double>(sight.row[i]);
    kernel_[n] = 1.0;
    update(block, sight);
  }

  void change(const Block& block, const Sight& sight) override {
    for (std::size_t i = 0; i < block.size(); ++i) {
      kernel_[i] = static_cast<double>(sight.row[i]);
    }
    update(block, sight);
  }

  [[nodiscard]] Price price(const Block& block) const override {
    const std::size_t n = block.size();
    if (n == 0) return {0, straight_price(block)};
    Price found{0, 0.0};
    for (std::size_t i = 0; i < n; ++i) {
      const double loss = block.squared_coef(i) / variance(block, i);
      if (i == 0 || loss < found.loss) found = {i, loss};
    }
    return found;
  }

  void leave(const Block& from, const Block& to, std::size_t gone) override {
    const std::size_t n = from.size();
    double* const u = load(from);
    const auto at = [&](std::size_t i, std::size_t j) -> double& { return u[j * (j + 1) / 2 + i]; };
    // Condition on e_i with r = 0 (covariance.hpp, remove); gain_ becomes P e_i.
    std::fill_n(gain_.begin(), n, 0.0);
    double alpha = at(gone, gone);
    for (std::size_t j = gone; j < n; ++j) {
      const double d = at(j, j);
      const double f = j == gone ? 1.0 : at(gone, j);
      const double v = d * f;
      const double slope = j == gone ? 0.0 : -f / alpha;
      if (j != gone) {
        const double before = alpha;
        alpha += f * v;
        at(j, j) = std::max(d * (before / alpha), kLeastVariance);
      }
      for (std::size_t i = 0; i < j; ++i) {
        const double number = at(i, j);
        at(i, j) = number + slope * gain_[i];
        gain_[i] += v * number;
      }
      gain_[j] += v;
    }
    const double variance = gain_[gone];
    to.copy_without(from, gone);
    for (std::size_t k = 0; k < outputs_; ++k) {
      const double share = from.coefs()[k * n + gone] / variance;
      double* const coefs = to.coefs() + k * (n - 1);
      for (std::size_t i = 0; i < n - 1; ++i) coefs[i] -= share * gain_[i + (i >= gone)];
    }
    float* numbers = to.triangle();
    for (std::size_t j = 0; j < n; ++j) {
      if (j == gone) continue;
      for (std::size_t i = 0; i <= j; ++i) {
        if (i != gone) *numbers++ = static_cast<float>(at(i, j));
      }
    }
  }

 protected:
  void decide_more(const Block& block, const float* x, double* outputs) const override {
    if (!straight_) return;
    const float* weights = block.extra<float>() + width_ + 1;
    for (std::size_t k = 0; k < outputs_; ++k, weights += width_ + 1) {
      double sum = static_cast<double>(weights[0]);
      for (std::size_t j = 0; j < width_; ++j) {
        sum += static_cast<double>(weights[1 + j]) * static_cast<double>(x[j]);
      }
      outputs[k] += sum;
    }
  }

 private:
  static constexpr double kLeastVariance = 1e-30;

  // d = Kinv k into solved_, by a Cholesky factor of K + jitter; returns whether x is new.
  bool novel(const Block& block, const Sight& sight) {
    const std::size_t n = block.size();
    double* const g = gram_.data();
    for (std::size_t i = 0; i < n; ++i) {
      block.get(i, x_.data());
      fill_row(block, x_.data(), sight.scales, row_.data());
      for (std::size_t j = 0; j <= i; ++j) g[i * n + j] = static_cast<double>(row_[j]);
      g[i * n + i] += jitter_;
    }
    double reach = 0.0;  // k.d
    for (std::size_t i = 0; i < n; ++i) {
      double value = static_cast<double>(sight.row[i]);
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = g[i * n + j];
        for (std::size_t p = 0; p < j; ++p) sum -= g[i * n + p] * g[j * n + p];
        if (i == j) {
          g[i * n + i] = std::sqrt(std::max(sum, kInSpan<float>));
        } else {
          g[i * n + j] = sum / g[j * n + j];
          value -= g[i * n + j] * solved_[j];
        }
      }
      solved_[i] = value / g[i * n + i];
      reach += solved_[i] * solved_[i];
    }
    for (std::size_t i = n; i-- > 0;) {
      double sum = solved_[i];
      for (std::size_t j = i + 1; j < n; ++j) sum -= g[j * n + i] * solved_[j];
      solved_[i] = sum / g[i * n + i];
    }
    const double least = std::max(jitter_, kInSpan<float>);
    delta2_ = std::max(1.0 + jitter_ - reach, least);
    return 1.0 - reach > least;
  }

  // One step of the belief for the loss loss_; k is in kernel_. A step that would make a number too
  // large for float32, for example with an absurd weight, is not made.
  void update(const Block& block, const Sight& sight) {
    const std::size_t n = block.size();
    const double weight = regresses_ ? sight.weight : std::min(1.0, sight.weight);
    const double r = r_ / weight;
    double apart = 0.0;
    float* const variances = block.extra<float>();
    if (straight_) {
      apart = static_cast<double>(variances[0]);
      for (std::size_t j = 0; j < width_; ++j) {
        const double x = static_cast<double>(sight.x[j]);
        apart += static_cast<double>(variances[1 + j]) * x * x;
      }
    }
    double* const u = load(block);
    double spread = apart;
    for (std::size_t j = 0; j < n; ++j) {
      const double* const column = u + j * (j + 1) / 2;
      double f = kernel_[j];
      for (std::size_t i = 0; i < j; ++i) f += column[i] * kernel_[i];
      row_of_factor_[j] = f;
      spread += column[j] * f * f;
    }
    if (!std::isfinite(spread)) return;
    const double others = outputs_ > 2 ? static_cast<double>(outputs_ - 1) : 1.0;
    double noise = r * others + spread * (others - 1.0);
    const bool settled = floor_ > 0.0 && spread <= floor_;
    if (floor_ > 0.0 && !settled) noise = std::max(noise, spread * floor_ / (spread - floor_));
    double alpha = noise + apart;
    for (std::size_t j = 0; j < n; ++j) {
      double* const column = u + j * (j + 1) / 2;
      const double f = row_of_factor_[j];
      const double v = column[j] * f;
      const double slope = settled ? 0.0 : -f / alpha;
      if (!settled) {
        const double before = alpha;
        alpha += f * v;
        column[j] = std::max(column[j] * (before / alpha), kLeastVariance);
      }
      for (std::size_t i = 0; i < j; ++i) {
        const double number = column[i];
        column[i] = number + slope * gain_[i];
        gain_[i] += v * number;
      }
      gain_[j] = v;
    }
    // The direction already includes the weight.
    const double step = loss_ / (spread + r) / sight.weight;
    if (!fits(block, sight, step)) return;
    if (!settled) store(block);
    for (std::size_t k = 0; k < outputs_; ++k) {
      const double move = step * sight.direction[k];
      if (move == 0.0) continue;
      for (std::size_t i = 0; i < n; ++i) block.coefs()[k * n + i] += move * gain_[i];
      if (!straight_) continue;
      float* const weights = variances + (1 + k) * (width_ + 1);
      weights[0] += static_cast<float>(move * static_cast<double>(variances[0]));
      for (std::size_t j = 0; j < width_; ++j) {
        weights[1 + j] += static_cast<float>(move * static_cast<double>(variances[1 + j]) *
                                             static_cast<double>(sight.x[j]));
      }
    }
    if (!straight_) return;
    const double precision = 1.0 / (r * others);
    const auto learn = [&](float& variance, double x) {
      const auto old = static_cast<double>(variance);
      variance = static_cast<float>(old / (1.0 + old * x * x * precision));
    };
    learn(variances[0], 1.0);
    for (std::size_t j = 0; j < width_; ++j) {
      learn(variances[1 + j], static_cast<double>(sight.x[j]));
    }
  }

  // Whether all numbers after a step are finite in float32: it tests their sum.
  [[nodiscard]] bool fits(const Block& block, const Sight& sight, double step) const {
    const std::size_t n = block.size();
    double sum = 0.0;
    for (std::size_t i = 0; i < n * (n + 1) / 2; ++i) sum += std::abs(factor_[i]);
    const float* const variances = block.extra<float>();
    for (std::size_t k = 0; k < outputs_; ++k) {
      const double move = step * sight.direction[k];
      for (std::size_t i = 0; i < n; ++i) {
        sum += std::abs(block.coefs()[k * n + i] + move * gain_[i]);
      }
      if (!straight_) continue;
      const float* const weights = variances + (1 + k) * (width_ + 1);
      for (std::size_t j = 0; j <= width_; ++j) {
        const double x = j > 0 ? static_cast<double>(sight.x[j - 1]) : 1.0;
        const double by = move * static_cast<double>(variances[j]) * x;
        sum += std::abs(static_cast<double>(weights[j]) + by);
      }
    }
    return sum <= static_cast<double>(std::numeric_limits<float>::max());
  }

  // P_ii.
  static double variance(const Block& block, std::size_t i) {
    const float* column = block.triangle() + i * (i + 1) / 2;
    auto sum = static_cast<double>(column[i]);
    for (std::size_t j = i + 1; j < block.size(); ++j) {
      column += j;
      const auto number = static_cast<double>(column[i]);
      sum += static_cast<double>(column[j]) * number * number;
    }
    return sum;
  }
  // How certain it is that the weights differ from 0, all together.
  [[nodiscard]] double straight_price(const Block& block) const {
    const float* const variances = block.extra<float>();
    double sum = 0.0;
    for (std::size_t k = 0; straight_ && k < outputs_; ++k) {
      const float* const weights = variances + (1 + k) * (width_ + 1);
      for (std::size_t j = 0; j <= width_; ++j) {
        if (!(variances[j] > 0.0F)) continue;
        sum += static_cast<double>(weights[j]) * static_cast<double>(weights[j]) /
               static_cast<double>(variances[j]);
      }
    }
    return sum;
  }

  // The triangle in float64, and back.
  double* load(const Block& block) {
    const std::size_t count = block.size() * (block.size() + 1) / 2;
    std::copy_n(block.triangle(), count, factor_.begin());
    return factor_.data();
  }
  void store(const Block& block) {
    float* const to = block.triangle();
    const std::size_t count = block.size() * (block.size() + 1) / 2;
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(factor_[i]);
    for (std::size_t j = 0; j < block.size(); ++j) {  // variances must not become 0 in float32
      float& variance = to[j * (j + 1) / 2 + j];
      variance = std::max(variance, static_cast<float>(kLeastVariance));
    }
  }

  double r_;
  double jitter_;
  double floor_;
  bool straight_;
  bool regresses_;
  // Scratch for the current row:
  double loss_ = 0.0;
  double delta2_ = 1.0;
  std::vector<float> x_;
  std::vector<float> row_;
  std::vector<double> gram_;
  std::vector<double> solved_;  // d: valid from `wish` to `grow`, while others may `leave`
  std::vector<double> gain_;    // P k or P e_i
  std::vector<double> factor_;
  std::vector<double> kernel_;
  std::array<double, 256> row_of_factor_{};  // U'k
};

}  // namespace budgetron
