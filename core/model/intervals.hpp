// Prediction intervals, and sets of classes, that contain the target in the requested share of
// rows: an online conformal method (docs/develop/decisions/0068).
//
// Regression. The score of a row is its error relative to the usual size of errors at x and now,
//
//   r = |y - f(x)| / s(x),    s(x) = run * local(x) * sqrt(1 + v(x))
//
//   run    mean |e| / local of about the last kRun rows; an error counts as at most ten means
//   local  the size of |e|/run near x: every stored example i has sums of it over the rows so far,
//          weighted by k(x_i, x)^8 and forgotten over about kNear rows of its own:
//          local(x) = (c + sum_i k_i^8 A_i) / (c + sum_i k_i^8 W_i).  Only for learners with a
//          belief, whose rounds cost O(B^2), and kernels of a distance; otherwise 1
//   v      the belief's variance of f(x) over that of its noise; 0 without a belief
//
// Quantiles of r at kLevels follow the scores: with the level p,  q <- q (1 + step p) if r > q, and
// q <- q (1 - step (1 - p)) if not. Whatever the stream does, the share of rows with r <= q is then
// p up to (log of the largest q over the smallest) / (step rows): this is the online form of
// conformal prediction (Gibbs & Candes 2021; Angelopoulos, Candes & Tibshirani 2023). The interval
// is f(x) +- q s(x); between two levels q is linear in -log(1 - level). The first p/(1 - p) rows
// are too few for a statement: until then the interval is infinite, and the set has all classes.
//
// Classification. The score is the margin m of the row's own class (its output minus the best other
// one) over the mean |m| of about the last kMargins rows; t follows the (1 - p)-quantile of the
// scores by additive steps. The set contains every class whose margin is at least t times that
// mean, and always the predicted class.
//
// Only rows that were not learned before count. Cost: O(1) per row, local O(B). Memory: kCount
// numbers, local three per stored example.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/state.hpp"
#include "hypothesis/expansion.hpp"

namespace budgetron {

// Running quantiles of scores at fixed levels.
class ScoreQuantiles {
 public:
  static constexpr std::size_t kCount = 12;
  static constexpr std::array<double, kCount> kLevels{0.1,  0.25, 0.5,  0.6,   0.7,  0.8,
                                                      0.85, 0.9,  0.95, 0.975, 0.99, 0.995};
  static constexpr double kLeast = 0.01;  // the range of levels
  static constexpr double kMost = 0.995;

  // `factors`: steps multiply, and scores are at least 0. Otherwise steps add.
  explicit ScoreQuantiles(bool factors) : factors_(factors) {
    // Start values: quantiles of a normal score over its mean size; 0 for margins.
    constexpr std::array<double, kCount> normal{0.158, 0.399, 0.845, 1.055, 1.299, 1.606,
                                                1.804, 2.062, 2.456, 2.809, 3.228, 3.518};
    if (factors_) values_ = normal;
  }

  void count(double score) {
    ++rows_;
    const double first = kFirst / static_cast<double>(rows_);
    std::array<double, kCount> young;
    const bool grown = first <= kSteps[0];
    for (std::size_t j = 0; j < kCount && !grown; ++j) {
      young[j] = std::max(kSteps[j], std::min(kLargest, first));
    }
    const double* const steps = grown ? kSteps.data() : young.data();
    // No branches: scores are not predictable.
    if (factors_) {
      for (std::size_t j = 0; j < kCount; ++j) {
        const double beyond = score > values_[j] ? 1.0 : 0.0;
        const double now = values_[j] * (1.0 + steps[j] * (beyond - (1.0 - kLevels[j])));
        values_[j] = std::min(std::max(now, kTiny), kHuge);
      }
    } else {
      for (std::size_t j = 0; j < kCount; ++j) {
        const double beyond = score < values_[j] ? 1.0 : 0.0;
        const double now = values_[j] - steps[j] * (beyond - (1.0 - kLevels[j]));
        values_[j] = std::min(std::max(now, -kHuge), kHuge);
      }
    }
  }

  // The value that this share of the scores does not exceed; linear in -log(1 - level).
  [[nodiscard]] double at(double level) const {
    const double place = -std::log1p(-level);
    double before = 0.0;
    double low = factors_ ? 0.0 : values_[0];
    for (std::size_t j = 0; j < kCount; ++j) {
      const double here = -std::log1p(-kLevels[j]);
      const double value = factors_ ? std::max(low, values_[j]) : std::min(low, values_[j]);
      if (place <= here || j + 1 == kCount) {
        return low + (value - low) * std::min(1.0, (place - before) / (here - before));
      }
      before = here;
      low = value;
    }
    return low;
  }

  void visit_state(StateVisitor& visitor) {
    std::vector<double> values(values_.begin(), values_.end());
    visitor.field("rows", rows_);
    if (visitor.mode() == StateVisitor::Mode::count) return;  // part of the object
    visitor.field("quantiles", values);
    if (!visitor.loading()) return;
    require(values.size() == kCount && all_finite(values), "quantiles");
    std::copy(values.begin(), values.end(), values_.begin());
    for (const double value : values_) {
      require(factors_ ? value >= kTiny && value <= kHuge : std::abs(value) <= kHuge, "quantiles");
    }
  }

 private:
  static constexpr double kFirst = 4.0;    // the step of row t is at least this over t ...
  static constexpr double kLargest = 0.2;  // ... but at most this
  static constexpr double kTiny = 1e-6;
  static constexpr double kHuge = 1e150;
  // 0.01, and more for rare scores: 0.01 sqrt(0.1/(1 - level)).
  static constexpr std::array<double, kCount> kSteps{0.01, 0.01, 0.01,   0.01, 0.01,   0.01,
                                                     0.01, 0.01, 0.0141, 0.02, 0.0316, 0.0447};

  bool factors_;
  std::int64_t rows_ = 0;
  std::array<double, kCount> values_{};
};

// The size of errors near the stored examples, relative to the current mean.
class LocalErrors {
 public:
  static constexpr double kNear = 1000.0;
  static constexpr double kPrior = 5.0;  // rows with the mean error

  void reserve(std::size_t examples) {
    ids_.reserve(examples);
    errors_.reserve(examples);
    rows_.reserve(examples);
  }

  // local(x); examples that have moved since do not count.
  template <class Real>
  [[nodiscard]] double at(const Row<Real>& row, const Expansion<Real>& f) const {
    if (ids_.size() != f.size() || !std::equal(ids_.begin(), ids_.end(), f.ids())) return 1.0;
    return sum(ids_.size(), [&](std::size_t i, double& above, double& below) {
      const double near = nearness(row.values[i]);
      above += near * errors_[i];
      below += near * rows_[i];
    });
  }
  // The same; then counts the row with this |e|/run. Follows the examples first.
  template <class Real>
  double count(const Row<Real>& row, double error) {
    const Real* const values = row.values.data();
    double* const errors = errors_.data();
    double* const rows = rows_.data();
    return sum(ids_.size(), [=](std::size_t i, double& above, double& below) {
      const double near = nearness(values[i]);
      const double kept = 1.0 - near * (1.0 / kNear);
      above += near * errors[i];
      below += near * rows[i];
      errors[i] = kept * errors[i] + near * error;
      rows[i] = kept * rows[i] + near;
    });
  }
  void clear() {
    ids_.clear();
    errors_.clear();
    rows_.clear();
  }
  // Sums in the order of other examples.
  template <class Real>
  void take(const LocalErrors& from, const Expansion<Real>& f) {
    for (std::size_t i = 0; i < f.size() && i < from.ids_.size(); ++i) {
      const auto at = std::find(from.ids_.begin(), from.ids_.end(), f.id(i));
      const auto place = static_cast<std::size_t>(at - from.ids_.begin());
      const bool known = place < from.ids_.size();
      ids_.push_back(f.id(i));
      errors_.push_back(known ? from.errors_[place] : 0.0);
      rows_.push_back(known ? from.rows_[place] : 0.0);
    }
  }
  // Follows the stored examples: those that moved keep their sums. The last example takes the place
  // of one that leaves, so a source is never overwritten before it is read.
  template <class Real>
  void follow(const Expansion<Real>& f) {
    const std::size_t before = ids_.size();
    const std::size_t same = std::min(before, f.size());
    if (before == f.size() && std::equal(ids_.begin(), ids_.end(), f.ids())) return;
    for (std::size_t i = 0; i < f.size(); ++i) {
      if (i < same && ids_[i] == f.id(i)) continue;
      const auto at =
          std::find(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(before), f.id(i));
      const auto from = static_cast<std::size_t>(at - ids_.begin());
      const double error = from < before ? errors_[from] : 0.0;
      const double rows = from < before ? rows_[from] : 0.0;
      if (i < ids_.size()) {
        ids_[i] = f.id(i);
        errors_[i] = error;
        rows_[i] = rows;
      } else {
        ids_.push_back(f.id(i));
        errors_.push_back(error);
        rows_.push_back(rows);
      }
    }
    ids_.resize(f.size());
    errors_.resize(f.size());
    rows_.resize(f.size());
  }

  void visit_state(StateVisitor& visitor) {
    visitor.field("ids", ids_);
    visitor.field("errors", errors_);
    visitor.field("rows", rows_);
    if (!visitor.loading()) return;
    require(errors_.size() == ids_.size() && rows_.size() == ids_.size() && all_finite(errors_) &&
                all_finite(rows_),
            "local errors");
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      require(errors_[i] >= 0.0 && rows_[i] >= 0.0, "local errors");
    }
  }

 private:
  // k^8: about an eighth of the squared width.
  template <class Real>
  [[nodiscard]] static double nearness(Real value) {
    double near = static_cast<double>(value);
    near *= near;
    near *= near;
    return near * near;
  }

  // (c + sum of above)/(c + sum of below), in lanes, so that no sum waits for its last term.
  template <class Add>
  static double sum(std::size_t count, Add add) {
    constexpr std::size_t lanes = 4;
    double above[lanes] = {};
    double below[lanes] = {};
    const std::size_t whole = count - count % lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
      for (std::size_t l = 0; l < lanes; ++l) add(i + l, above[l], below[l]);
    }
    for (std::size_t i = whole; i < count; ++i) add(i, above[i % lanes], below[i % lanes]);
    return (kPrior + ((above[0] + above[1]) + (above[2] + above[3]))) /
           (kPrior + ((below[0] + below[1]) + (below[2] + below[3])));
  }

  std::vector<std::int64_t> ids_;
  std::vector<double> errors_;  // A
  std::vector<double> rows_;    // W
};

// Running statistics of the errors of a regression.
class Intervals {
 public:
  static constexpr double kRun = 100.0;
  static constexpr double kNoise = 1000.0;  // rows over which the noise is measured
  static constexpr double kMostError = 10.0;

  void reserve(std::size_t examples) { local_.reserve(examples); }

  // The usual size of errors at a row; `spread`: the belief's variance there over that of its
  // noise.
  [[nodiscard]] double scale(double local, double spread) const {
    return run_ * local * std::sqrt(1.0 + spread);
  }
  template <class Real>
  [[nodiscard]] double local(const Row<Real>& row, const Expansion<Real>* f) const {
    return f != nullptr ? local_.at(row, *f) : 1.0;
  }
  // Half the width of the interval where errors have this `size`; infinite while the rows are too
  // few for so rare errors.
  [[nodiscard]] double half(double coverage, double size) const {
    const bool few = static_cast<double>(rows_) * (1.0 - coverage) < coverage;
    return few ? std::numeric_limits<double>::infinity() : quantiles_.at(coverage) * size;
  }
  // The standard deviation of a target from the prediction at a row.
  [[nodiscard]] double deviation(double spread) const { return std::sqrt(noise_ * (1.0 + spread)); }

  // Counts the error at a row before the row is learned. `f` is null if `local` is 1.
  template <class Real>
  double look(const Row<Real>& row, const Expansion<Real>* f, double error) {
    if (f == nullptr) return 1.0;
    local_.follow(*f);
    return run_ > 0.0 ? local_.count(row, std::min(kMostError, error / run_)) : 1.0;
  }
  // The same after the row was learned: `local` and `spread` are the values from before.
  void count(double error, double local, double spread) {
    if (++rows_ == 1) return;  // before the first target nothing can be predicted
    const double own = error / (local * std::sqrt(1.0 + spread));
    const double score = run_ > 0.0 ? own / run_ : (error > 0.0 ? kLargest : 0.0);
    if (rows_ > 2) quantiles_.count(score);
    const auto t = static_cast<double>(rows_ - 1);
    run_ += (std::min(own, most(run_, kMostError, own)) - run_) / std::min(t, kRun);
    const double square = error * error / (1.0 + spread);
    noise_ += (std::min(square, most(noise_, kMostError * kMostError, square)) - noise_) /
              std::min(t, kNoise);
  }
  // Call after each row: a loaded model must know the same of its examples as the saved one.
  template <class Real>
  void follow(const Expansion<Real>* f) {
    if (f != nullptr) local_.follow(*f);
  }
  // Call after loading: puts the sums in the order of the examples; clears them if there are none.
  template <class Real>
  void arrange(const Expansion<Real>* f) {
    LocalErrors loaded = local_;
    local_.clear();
    if (f != nullptr) local_.take(loaded, *f);
  }

  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this));
    visitor.field("rows", rows_);
    visitor.field("run", run_);
    visitor.field("noise", noise_);
    visitor.part("scores", quantiles_);
    visitor.part("local", local_);
    if (visitor.loading()) {
      require(run_ >= 0.0 && noise_ >= 0.0 && std::isfinite(run_) && std::isfinite(noise_),
              "intervals");
    }
  }

 private:
  static constexpr double kLargest = 1e150;

  static double most(double mean, double times, double first) {
    return mean > 0.0 ? times * mean : first;
  }

  std::int64_t rows_ = 0;
  double run_ = 0.0;
  double noise_ = 0.0;
  ScoreQuantiles quantiles_{true};
  LocalErrors local_;
};

// Running statistics of the margins of a classification.
class ClassSets {
 public:
  static constexpr double kMargins = 100.0;  // rows over which their size is averaged

  // Counts a decision on a row of this class, before it is learned.
  void count(std::span<const double> outputs, std::size_t code) {
    const double score = margin(outputs, code);
    if (!(std::abs(score) < kLargest)) return;
    ++rows_;
    if (size_ > 0.0) quantiles_.count(score / size_);
    const double most = size_ > 0.0 ? 10.0 * size_ : std::abs(score);
    size_ +=
        (std::min(std::abs(score), most) - size_) / std::min(static_cast<double>(rows_), kMargins);
  }
  // The least margin of a class in the set.
  [[nodiscard]] double threshold(double coverage) const {
    const bool few = static_cast<double>(rows_) * (1.0 - coverage) < coverage;
    return few ? -std::numeric_limits<double>::infinity() : size_ * quantiles_.at(coverage);
  }

  // For each class 1 if it is in the set, else 0; a single class always is.
  static void answer(std::span<const double> outputs, double least, std::span<double> members) {
    const std::size_t classes = members.size();
    for (std::size_t k = 0; k < classes; ++k) {
      members[k] = classes == 1 || holds(outputs, least, k) ? 1.0 : 0.0;
    }
  }
  // Whether the set has this class.
  static bool holds(std::span<const double> outputs, double least, std::size_t code) {
    if (outputs.size() == 1 && code == (outputs[0] >= 0.0 ? 1U : 0U)) return true;
    const double own = margin(outputs, code);
    return own >= least || own > 0.0 || (outputs.size() > 1 && first_best(outputs) == code);
  }

  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this));
    visitor.field("rows", rows_);
    visitor.field("size", size_);
    visitor.part("scores", quantiles_);
    if (visitor.loading()) require(size_ >= 0.0 && size_ <= kLargest, "sets");
  }

 private:
  static constexpr double kLargest = 1e150;

  static std::size_t first_best(std::span<const double> outputs) {
    return static_cast<std::size_t>(std::max_element(outputs.begin(), outputs.end()) -
                                    outputs.begin());
  }
  static double margin(std::span<const double> outputs, std::size_t code) {
    if (outputs.size() == 1) return code == 1 ? outputs[0] : -outputs[0];
    double other = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (k != code) other = std::max(other, outputs[k]);
    }
    return outputs[code] - other;
  }

  std::int64_t rows_ = 0;
  double size_ = 0.0;
  ScoreQuantiles quantiles_{false};
};

}  // namespace budgetron
