// The interface of a learner of blocks: what differs between the algorithms of a fleet.
//
// Each is the ordinary learner of its name (core/learners/) on a few examples, with the kernel
// exp(-sum_j g_j (x_j - s_j)^2), k(x, x) = 1. The margin is that of f_shared + f_own, in regression
// -|e|; the learner changes f_own. It holds no model: all data of a model are in its block.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "base/spec.hpp"
#include "fleet/block.hpp"
#include "simd/small_row.hpp"

namespace budgetron {

// One row as a small model sees it.
struct Sight {
  const float* x = nullptr;        // in the fleet's units
  const float* scales = nullptr;   // g_j: the weight of each feature in the kernel
  const double* priors = nullptr;  // variances of weights before the first loss, relative to tau
  double tau = 0.0;                // that of the constant is a tenth of it (straight_part.hpp)
  float* row = nullptr;            // kernel values of the stored examples
  std::span<const double> direction;
  double margin = 0.0;
  double weight = 1.0;
  double usual = 0.0;  // regression: the running mean of the error
  Random* random = nullptr;
};

// What a row does to a model: nothing, a change in place, or one more example.
enum class Wish { nothing, change, grow };

class SmallLearner {
 public:
  SmallLearner(std::size_t budget, std::size_t width, std::size_t outputs)
      : budget_(budget), width_(width), outputs_(outputs), coefs_(outputs) {}
  virtual ~SmallLearner() = default;

  [[nodiscard]] std::size_t budget() const { return budget_; }
  // The bytes of a block beside its examples, a multiple of 8, and whether it has a triangle.
  [[nodiscard]] virtual std::size_t extra_bytes() const { return 0; }
  [[nodiscard]] virtual bool triangular() const { return false; }
  // Whether a model without examples is worth a block.
  [[nodiscard]] virtual bool has_empty() const { return false; }
  // Whether the contents of a block could have been learned.
  [[nodiscard]] virtual bool sound(const Block&) const { return true; }

  // Fills the kernel row, and adds f_own(x) to the outputs.
  void decide(const Block& block, const float* x, const float* scales, float* row,
              double* outputs) const {
    const std::size_t n = block.size();
    if (n > 0) {
      fill_row(block, x, scales, row);
      const double* coefs = block.coefs();
      for (std::size_t k = 0; k < outputs_; ++k) {
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i) sum += coefs[k * n + i] * static_cast<double>(row[i]);
        outputs[k] += sum;
      }
    }
    if (block) decide_more(block, x, outputs);
  }

  // What the row does to the model, which may be empty. The kernel row is filled.
  virtual Wish wish(const Block& block, const Sight& sight) = 0;
  virtual void change(const Block& block, const Sight& sight) = 0;
  // The block is the model with room for x as its last example.
  virtual void grow(const Block& block, const Sight& sight) = 0;
  // Initialises a new block without examples.
  virtual void begin(const Block&, const Sight&) {}

  // The example whose loss costs the model least, and that cost.
  struct Price {
    std::size_t example;
    double loss;
  };
  [[nodiscard]] virtual Price price(const Block& block) const {
    Price found{0, block.size() > 0 ? block.squared_coef(0) : 0.0};
    for (std::size_t i = 1; i < block.size(); ++i) {
      const double loss = block.squared_coef(i);
      if (loss < found.loss) found = {i, loss};
    }
    return found;
  }
  // `to` becomes `from` without example i.
  virtual void leave(const Block& from, const Block& to, std::size_t i) {
    to.copy_without(from, i);
  }

 protected:
  virtual void decide_more(const Block&, const float*, double*) const {}
  void fill_row(const Block& block, const float* x, const float* scales, float* row) const {
    small_row_functions().row({block.values(), block.size(), width_, x, scales, row});
  }
  [[nodiscard]] double size_of(std::span<const double> coefs) const {
    double sum = 0.0;
    for (const double coef : coefs) sum += coef * coef;
    return std::sqrt(outputs_ == 1 ? sum : 2.0 * sum);
  }
  void set_coefs(const Sight& sight, double factor) {
    for (std::size_t k = 0; k < outputs_; ++k) coefs_[k] = factor * sight.direction[k];
  }

  std::size_t budget_;
  std::size_t width_;
  std::size_t outputs_;
  std::vector<double> coefs_;  // of the new example
};

std::unique_ptr<SmallLearner> make_small_learner(const Spec& spec, std::size_t width,
                                                 std::size_t outputs);

}  // namespace budgetron
