// The straight (linear) part of a hypothesis:  g(x) = c + w.x,  one c and one vector w per output.
//
// The coordinates of x are (1, x_1, x_2, ...): coordinate 0 is the constant, then the features in
// the order in which they first were nonzero. A feature that was never seen has no weight; a
// feature that finds no place any more (`most`) never gets one. So dense and sparse rows mean the
// same, and a stream of growing width needs no special rule.
//
// The belief over (c, w) is full, as coordinates of the learner's covariance, or diagonal. If it is
// diagonal, the variance D_j of coordinate j is stored here, and a row x with noise variance r
// makes it
//   D_j <- 1/(1/D_j + x_j^2/r)
// which adds the precision of this observation, as if all other coordinates were known.
//
// The initial variance is  tau = min(0.2, 2/(1 + mean |x|^2)),  the mean over the last 200 rows
// (the first 200 if units are fixed): then w.x has at most twice the variance of a kernel part, 1.
// That of c is a tenth of tau: otherwise c alone explains that one class is rare, and a row unlike
// all others is predicted as the frequent class (docs/develop/decisions/0050).
//
// Cost: O(non-zeros of x) per row and output. Memory: K + 1 numbers per feature, and its entry in a
// table.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/feature_table.hpp"
#include "base/sample.hpp"
#include "base/state.hpp"
#include "hypothesis/class_change.hpp"
#include "hypothesis/unit_change.hpp"

namespace budgetron {

class StraightPart {
 public:
  // `sets`: 1 or 2 sets of weights over the same features.
  explicit StraightPart(std::size_t outputs, std::size_t sets = 1)
      : outputs_(outputs), sets_(sets) {}

  // The number of coordinates: 0 before the first row, then the constant and the features.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t features() const { return features_.size(); }
  [[nodiscard]] std::int32_t feature(std::size_t slot) const { return features_[slot]; }
  [[nodiscard]] double* weights(std::size_t output, std::size_t set = 0) {
    return weights_[set].data() + output * stride_;
  }
  [[nodiscard]] const double* weights(std::size_t output, std::size_t set = 0) const {
    return weights_[set].data() + output * stride_;
  }

  // Calls visit(coordinate, value) for the coordinates of x that have a place, in the order of the
  // features, the constant first; in a dense row possibly for zeros too.
  template <class Real, class Visit>
  void each(const Sample<Real>& x, Visit visit) const {
    if (size_ == 0) return;
    visit(std::size_t{0}, 1.0);
    if (x.dense() && in_order_) {
      const std::size_t count = std::min(x.count, features_.size());
      for (std::size_t j = 0; j < count; ++j) visit(j + 1, static_cast<double>(x.values[j]));
      return;
    }
    for (std::size_t k = 0; k < x.count; ++k) {
      if (x.values[k] == Real(0)) continue;
      const std::uint32_t slot = slots_.find(x.feature(k));
      if (slot != kNoSlot) visit(std::size_t{slot} + 1, static_cast<double>(x.values[k]));
    }
  }

  // outputs += g(x). Zeros among the values of a dense row change no bit of a sum.
  template <class Real>
  void decide(const Sample<Real>& x, std::span<double> outputs, std::size_t set = 0) const {
    for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] += value(x, k, set);
  }
  // The same for all sets: places are looked up, and zeros skipped, only once.
  template <class Real>
  void decide_all(const Sample<Real>& x, std::span<double> outputs) const {
    const bool plain = x.dense() && in_order_ && outputs.size() <= 2;
    if (plain || x.count > kTerms) {
      for (std::size_t set = 0; set < sets_; ++set) {
        decide(x, outputs.subspan(set * outputs_, outputs_), set);
      }
      return;
    }
    if (size_ == 0) return;
    double values[kTerms];
    std::uint32_t slots[kTerms];
    std::size_t count = 0;
    for (std::size_t i = 0; i < x.count; ++i) {
      const std::uint32_t slot = slots_.find(x.feature(i));
      values[count] = static_cast<double>(x.values[i]);
      slots[count] = slot;
      count += static_cast<std::size_t>((x.values[i] != Real(0)) & (slot != kNoSlot));
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const double* const w = weights(k % outputs_, k / outputs_);
      double sums[kSums] = {};
      for (std::size_t i = 0; i < count; ++i) {
        sums[slots[i] % kSums] += w[1 + slots[i]] * values[i];
      }
      outputs[k] += add_up(w[0], sums);
    }
  }
  // Output k of g(x), with this set of weights.
  template <class Real>
  [[nodiscard]] double value(const Sample<Real>& x, std::size_t k, std::size_t set) const {
    const double* const w = weights(k, set);
    if (size_ == 0) return 0.0;
    double sums[kSums] = {};  // by place of the feature, so that no sum waits for the one before
    if (x.dense() && in_order_) {
      const std::size_t count = std::min(x.count, features_.size());
      std::size_t j = 0;
      for (; j + kSums <= count; j += kSums) {
        for (std::size_t l = 0; l < kSums; ++l) {
          sums[l] += w[1 + j + l] * static_cast<double>(x.values[j + l]);
        }
      }
      for (; j < count; ++j) sums[j % kSums] += w[1 + j] * static_cast<double>(x.values[j]);
    } else {
      for (std::size_t i = 0; i < x.count; ++i) {
        const std::uint32_t slot = slots_.find(x.feature(i));
        if (slot != kNoSlot) sums[slot % kSums] += w[1 + slot] * static_cast<double>(x.values[i]);
      }
    }
    return add_up(w[0], sums);
  }

  // Counts a row in tau, and its nonzero features in `nonzeros`.
  template <class Real>
  void count(const Sample<Real>& x) {
    if (rounds_ == kRounds) return;
    double square = 0.0;
    double nonzeros = 0.0;
    for (std::size_t k = 0; k < x.count; ++k) {
      const auto value = static_cast<double>(x.values[k]);
      square += value * value;
      nonzeros += value != 0.0 ? 1.0 : 0.0;
    }
    const auto t = static_cast<double>(++rounds_);
    mean_square_ += (std::min(square, kLargest) - mean_square_) / t;
    nonzeros_ += (nonzeros - nonzeros_) / t;
  }
  [[nodiscard]] double tau() const { return std::min(0.2, 2.0 / (1.0 + mean_square_)); }
  [[nodiscard]] double tau_of_constant() const { return 0.1 * tau(); }
  [[nodiscard]] double nonzeros() const { return nonzeros_; }  // mean number per row
  // Whether the means are reliable; before anything is learned one row is enough.
  [[nodiscard]] bool counted() const { return size_ == 0 || rounds_ >= kEnough; }

  // Gives the nonzero features of x a place, as long as there are fewer than `most`, with weight 0;
  // returns the number of new coordinates.
  template <class Real>
  std::size_t see(const Sample<Real>& x, std::size_t most) {
    const std::size_t before = size_;
    for (std::size_t k = 0; k < x.count && features_.size() < most; ++k) {
      if (x.values[k] == Real(0) || slots_.find(x.feature(k)) != kNoSlot) continue;
      place(x.feature(k));
    }
    grow(1 + features_.size());
    return size_ - before;
  }

  // Adds moves[k] * gains[j] to the weights.
  template <class Real>
  void shift(const Real* gains, std::span<const double> moves) {
    for (std::size_t k = 0; k < moves.size(); ++k) {
      if (moves[k] != 0.0) shift_output(k, gains, moves[k]);
    }
  }

  template <class Real>
  void shift_output(std::size_t k, const Real* gains, double by) {
    double* const w = weights(k);
    for (std::size_t j = 0; j < size_; ++j) w[j] += by * static_cast<double>(gains[j]);
  }

  // |(1, x)|^2 over the coordinates that have a place; and weights += by moves[k] times these.
  template <class Real>
  [[nodiscard]] double square(const Sample<Real>& x) const {
    double sum = 0.0;
    each(x, [&](std::size_t, double value) { sum += value * value; });
    return sum;
  }
  template <class Real>
  void shift_along(const Sample<Real>& x, double by, std::span<const double> moves,
                   std::size_t set) {
    each(x, [&](std::size_t j, double value) {
      for (std::size_t k = 0; k < moves.size(); ++k) weights(k, set)[j] += moves[k] * (by * value);
    });
  }

  // The largest feature number that has a place.
  [[nodiscard]] std::int32_t last_feature() const {
    return features_.empty() ? 0 : *std::max_element(features_.begin(), features_.end());
  }

  // ---- the diagonal form ----------------------------------------------------------------------
  [[nodiscard]] bool has_variances() const { return !variances_.empty(); }
  // From now on there are variances: the given ones, and tau for coordinates to come.
  template <class Real>
  void set_variances(const Real* variances) {
    variances_.assign(variances, variances + size_);
  }
  void reset_variances() {
    variances_.clear();
    follow_size();
  }
  void follow_size() {
    const bool first = variances_.empty() && size_ > 0;
    variances_.resize(size_, tau());
    if (first) variances_[0] = tau_of_constant();
  }
  void add_to_variance_of_constant(double variance) {
    if (!variances_.empty()) variances_[0] += variance;
  }
  // The variance of g(x).
  template <class Real>
  [[nodiscard]] double spread(const Sample<Real>& x) const {
    double sum = 0.0;
    each(x, [&](std::size_t j, double value) { sum += variances_[j] * (value * value); });
    return sum;
  }
  // Weights move by moves[k] D_j x_j; then x counts as observed with noise variance r.
  template <class Real>
  void condition(const Sample<Real>& x, double r, std::span<const double> moves) {
    each(x, [&](std::size_t j, double value) {
      const double gain = variances_[j] * value;
      for (std::size_t k = 0; k < moves.size(); ++k) weights(k)[j] += moves[k] * gain;
      variances_[j] = std::max(variances_[j] / (1.0 + gain * value / r), kLeast);
    });
  }

  // ---- changes of the whole part ---------------------------------------------------------------
  void multiply(double factor) {
    for (AlignedVector<double>& set : weights_) {
      for (double& weight : set) weight *= factor;
    }
  }
  // Adds to c of every output; false if there is no constant yet.
  bool add_to_constant(double by) {
    if (size_ == 0) return false;
    for (std::size_t set = 0; set < sets_; ++set) {
      for (std::size_t k = 0; k < outputs_; ++k) weights(k, set)[0] += by;
    }
    return true;
  }
  void rearrange(const ClassChange& change) {
    for (std::size_t set = 0; set < sets_; ++set) {
      rearrange_outputs(weights_[set], stride_, change);
    }
    outputs_ = ClassChange::outputs(change.after);
  }
  // Removes all weights and their places.
  void clear();

  // Keeps g the same function of the stream: if z_old = ratio z_new + shift for a feature, then
  //   w <- ratio w ;  c += sum_j shift_j w_j
  // and variances change likewise. `steps` gets ratio and shift of every coordinate, unless it is
  // null.
  void change_units(const UnitChange& change, std::vector<UnitStep>* steps);

  // Allocates memory for so many features of rows of this width.
  void reserve(std::size_t width, std::size_t features, bool diagonal);

  void visit_state(StateVisitor& visitor);
  void check_invariants() const;

 private:
  static constexpr std::size_t kSums = 8;
  static constexpr std::size_t kTerms = 256;  // values looked up at once
  static constexpr std::int64_t kRounds = 200;
  static constexpr std::int64_t kEnough = 20;
  static constexpr double kLargest = 1e300;
  static constexpr double kLeast = 1e-300;  // least variance

  static double add_up(double sum, const double (&parts)[kSums]) {
    for (const double part : parts) sum += part;
    return sum;
  }
  void balance();
  void place(std::int32_t feature) {
    const auto slot = static_cast<std::uint32_t>(features_.size());
    in_order_ &= static_cast<std::uint32_t>(feature) == slot;
    slots_.insert(feature, slot);
    features_.push_back(feature);
  }
  void grow(std::size_t size);
  void visit_weights(StateVisitor& visitor, const std::string& name, std::size_t set);
  void set_stride(std::size_t stride);

  std::size_t outputs_;
  std::size_t sets_;
  std::size_t size_ = 0;
  std::size_t stride_ = 0;  // coordinates for which memory is allocated
  bool in_order_ = true;    // slot j is feature j
  FeatureTable slots_;
  std::vector<std::int32_t> features_;  // per slot
  AlignedVector<double> weights_[2];    // outputs x stride each, 0 behind the last coordinate
  std::vector<double> variances_;       // D of the diagonal form; otherwise empty
  std::int64_t rounds_ = 0;             // rows counted
  double mean_square_ = 0.0;
  double nonzeros_ = 0.0;
};

}  // namespace budgetron
