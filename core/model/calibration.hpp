// From decisions to probabilities: a sigmoid 1/(1 + exp(-(slope m + offset))) of the margin m,
// fitted to the margins recorded before their rows were learned.
//
// Two classes share one sigmoid of m = f(x), for the second class. With more classes there is one
// sigmoid per class, of the lead over the best other output, m_k = f_k - max_j f_j (j != k), and
// the answers are normalised. Both rules agree for two classes.
//
// The fit is the recursive form of logistic regression by its quadratic bound (Jaakkola, Jordan,
// 2000): with z = slope m + offset as it was for each row, c = tanh(z/2)/(2 z) <= 1/4 and the
// target t, the slope and offset that solve
//
//   [ sum c m m   sum c m ] [ slope  ]   [ sum (t - 1/2) m ]
//   [ sum c m     sum c   ] [ offset ] = [ sum (t - 1/2)   ]
//
// are those of the logistic fit once they move no more, and no step on the way can overshoot. The
// scale of f does not matter; rows are weighed by their weights.
//
//   forgetting  early margins are those of an untrained model: the sums keep about the last quarter
//               of the rows, and never more than about the last kWindow
//   solving     after each of the first kEach rows, then after every kBlock-th, which is when rows
//               are forgotten as well
//   targets     (n+ + 1)/(n+ + 2) and 1/(n- + 2) instead of 1 and 0, n+ and n- the rows of the
//               class and of the others (Platt, 1999)
//   prior       slope and offset 0, with the weight of one row
//   slope > 0   at least kLeastSlope over the root mean square of m; 1 if every m is 0
//
// Rows with a squared output or a weight beyond kMost are left out, so that no sum overflows.
// Reasons: docs/develop/decisions/0017. Cost: O(K) per round; memory: ten float64 per class.
//
// A `Counter` takes the rows of one call. Rows of two classes wait in it until the sums are needed:
// adding them block by block costs half as much as adding each right after its decision.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/state.hpp"
#include "hypothesis/expansion.hpp"

namespace budgetron {

// One sigmoid and the sums it is the solution of.
class Sigmoid {
 public:
  static constexpr double kPrior = 1.0;
  static constexpr double kLeastSlope = 1e-3;
  static constexpr double kLeastSquare = 1e-200;  // below, margins are as good as 0
  // Below this share a determinant is rounding. Weights of ordinary sizes keep it far above, by the
  // prior; one row of weight 1e20 among others of 1 does not.
  static constexpr double kSingular = 1e-12;

  [[nodiscard]] double operator()(double margin) const { return slope_ * margin + offset_; }

  // One row. The sums of the other class get 0, looked up: a branch on labels is mispredicted too
  // often, and compilers make one of anything else.
  void count(double margin, bool positive, double weight) {
    static constexpr double kShares[] = {0.0, 1.0, 0.0};
    const double curve = weight * bend((*this)(margin));
    const double* const shares = kShares + static_cast<std::size_t>(positive);
    const double up = shares[0] * weight;
    const double down = shares[1] * weight;
    positives_ += up;
    negatives_ += down;
    positive_m_ += up * margin;
    negative_m_ += down * margin;
    squares_ += weight * margin * margin;
    curve_mm_ += curve * margin * margin;
    curve_m_ += curve * margin;
    curve_ += curve;
  }

  // Forgets all but a share `keep` of the rows.
  void forget(double keep) {
    for (double* sum : {&positives_, &negatives_, &squares_, &curve_mm_, &curve_m_, &curve_,
                        &positive_m_, &negative_m_}) {
      *sum *= keep;
    }
  }

  // The sigmoid of -m for the other class.
  [[nodiscard]] Sigmoid mirrored() const {
    Sigmoid other = *this;
    std::swap(other.positives_, other.negatives_);
    other.positive_m_ = -negative_m_;
    other.negative_m_ = -positive_m_;
    other.curve_m_ = -curve_m_;
    other.offset_ = -offset_;
    return other;
  }

  void solve() {
    // t - 1/2 of either class.
    const double up = 0.5 - 1.0 / (positives_ + 2.0);
    const double down = 1.0 / (negatives_ + 2.0) - 0.5;
    const double pull_m = up * positive_m_ + down * negative_m_;
    const double pull = up * positives_ + down * negatives_;
    const double prior = 0.25 * kPrior;
    const double curve = curve_ + prior;
    slope_ = 1.0;
    const double total = positives_ + negatives_;
    const double square = total > 0.0 ? squares_ / total : 0.0;
    if (square >= kLeastSquare) {
      const double curve_mm = curve_mm_ + prior * square;
      const double least = kLeastSlope / std::sqrt(square);
      const double determinant = curve_mm * curve - curve_m_ * curve_m_;
      const double free = determinant > kSingular * curve_mm * curve
                              ? (curve * pull_m - curve_m_ * pull) / determinant
                              : least;
      slope_ = free > least ? free : least;
    }
    offset_ = (pull - curve_m_ * slope_) / curve;
  }

  // All the state there is, by name.
  static constexpr std::size_t kCount = 10;
  static const std::array<std::pair<const char*, double Sigmoid::*>, kCount> kNumbers;

  // tanh(z/2)/(2 z) to a part in 10,000, without its exponential: a fraction of its expansion up to
  // |z| = 10, from where on tanh is 1.
  static double bend(double z) {
    const double x = 0.5 * std::abs(z);
    const double s = x * x;
    const bool inner = x < 5.0;
    const double above = inner ? 135135.0 + s * (17325.0 + s * (378.0 + s)) : 1.0;
    const double below = inner ? 135135.0 + s * (62370.0 + s * (3150.0 + s * 28.0)) : x;
    return 0.25 * above / below;
  }

  // Whether rows could have made these numbers, so that learning on from them stays finite.
  [[nodiscard]] bool sound() const {
    for (const auto& [name, number] : kNumbers) {
      if (!(std::abs(this->*number) <= 1e150)) return false;
    }
    for (const double sum : {positives_, negatives_, squares_, curve_mm_, curve_}) {
      if (sum < 0.0) return false;
    }
    return curve_m_ * curve_m_ <= (1.0 + 1e-9) * curve_mm_ * curve_ + kLeastSquare && slope_ > 0.0;
  }

 private:
  double positives_ = 0.0;   // weight of the rows of the class ...
  double negatives_ = 0.0;   // ... and of the others
  double positive_m_ = 0.0;  // sum m over either
  double negative_m_ = 0.0;
  double squares_ = 0.0;   // sum m m
  double curve_mm_ = 0.0;  // sum c m m
  double curve_m_ = 0.0;   // sum c m
  double curve_ = 0.0;     // sum c
  double slope_ = 1.0;
  double offset_ = 0.0;
};

inline constexpr std::array<std::pair<const char*, double Sigmoid::*>, Sigmoid::kCount>
    Sigmoid::kNumbers{{{"positives", &Sigmoid::positives_},
                       {"negatives", &Sigmoid::negatives_},
                       {"squares", &Sigmoid::squares_},
                       {"curve_mm", &Sigmoid::curve_mm_},
                       {"curve_m", &Sigmoid::curve_m_},
                       {"curve", &Sigmoid::curve_},
                       {"positive_m", &Sigmoid::positive_m_},
                       {"negative_m", &Sigmoid::negative_m_},
                       {"slope", &Sigmoid::slope_},
                       {"offset", &Sigmoid::offset_}}};

class Calibration {
 public:
  static constexpr double kWindow = 2000.0;
  static constexpr std::int64_t kEach = 256;
  static constexpr std::int64_t kBlock = 32;
  static constexpr double kMost = 1e100;

  explicit Calibration(std::size_t outputs) : sigmoids_(outputs) {}

  // Counts the rows of one call, which holds the lock. All are counted when the counter is
  // destroyed.
  class Counter {
   public:
    // Null: nothing is counted.
    explicit Counter(Calibration* calibration) : calibration_(calibration) {}
    ~Counter() { flush(); }
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;

    [[nodiscard]] bool counts() const { return calibration_ != nullptr; }

    // A row of class `code` and the decision on it, made before it was learned.
    void count(std::span<const double> outputs, std::size_t code, double weight) {
      if (!(weight <= kMost)) return;
      for (const double output : outputs) {
        if (!(weight * output * output <= kMost && output * output <= kMost)) return;
      }
      if (outputs.size() == 1) {
        static constexpr double kSigns[] = {-1.0, 1.0};  // looked up, as in Sigmoid::count
        rows_[waiting_++] = {outputs[0], weight * kSigns[static_cast<std::size_t>(code == 1)]};
      } else {
        const Rivals rivals(outputs);
        for (std::size_t k = 0; k < outputs.size(); ++k) {
          calibration_->sigmoids_[k].count(rivals.margin(k), k == code, weight);
        }
      }
      const std::int64_t rows = ++calibration_->rows_;
      if (rows > kEach && rows % kBlock != 0) return;
      flush();
      calibration_->solve(rows <= kEach ? 1.0 : static_cast<double>(kBlock));
    }

   private:
    // The rows that wait, as they came.
    void flush() {
      if (waiting_ == 0) return;
      Sigmoid sigmoid = calibration_->sigmoids_[0];  // in registers
      for (std::size_t i = 0; i < waiting_; ++i) {
        sigmoid.count(rows_[i].margin, rows_[i].weight > 0.0, std::abs(rows_[i].weight));
      }
      calibration_->sigmoids_[0] = sigmoid;
      waiting_ = 0;
    }

    struct Row {
      double margin;
      double weight;  // negative: of the other class
    };

    Calibration* calibration_;
    std::size_t waiting_ = 0;
    Row rows_[kBlock];  // that wait
  };

  // The probability of every class, from the decision on a row. A single class has probability 1.
  void answer(std::span<const double> outputs, std::span<double> probabilities) const {
    if (probabilities.empty()) return;
    if (probabilities.size() == 1) {
      probabilities[0] = 1.0;
    } else if (outputs.size() == 1) {
      const double z = sigmoids_[0](outputs[0]);
      const double small = std::exp(-std::abs(z));
      probabilities[z < 0.0 ? 0 : 1] = 1.0 / (1.0 + small);
      probabilities[z < 0.0 ? 1 : 0] = small / (1.0 + small);
    } else {
      const Rivals rivals(outputs);
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        probabilities[k] = log_sigmoid(sigmoids_[k](rivals.margin(k)));
      }
      normalise(probabilities);
    }
  }

  // A class has joined: it starts without rows, the others keep their sums.
  void rearrange(const ClassChange& change) {
    const std::size_t outputs = ClassChange::outputs(change.after);
    if (outputs == sigmoids_.size() && outputs == 1) return;  // one class alone was not counted
    if (sigmoids_.size() > 1 && change.one_joins()) {
      sigmoids_.insert(sigmoids_.begin() + static_cast<std::ptrdiff_t>(change.first_new()),
                       Sigmoid());
      return;
    }
    std::vector<Sigmoid> known = std::move(sigmoids_);
    if (known.size() == 1) known = {known[0].mirrored(), known[0]};
    sigmoids_.assign(outputs, {});
    for (std::size_t k = 0; k < outputs; ++k) {
      const int from = change.order[k];
      if (from >= 0) sigmoids_[k] = known[static_cast<std::size_t>(from)];
    }
  }

  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this));
    visitor.field("rows", rows_);
    std::vector<double> packed;
    for (const auto& [name, number] : Sigmoid::kNumbers) {
      packed.clear();
      if (visitor.mode() == StateVisitor::Mode::save) {
        for (const Sigmoid& sigmoid : sigmoids_) packed.push_back(sigmoid.*number);
      }
      visitor.field(name, packed);
      if (!visitor.loading()) continue;
      require(packed.size() == sigmoids_.size(), std::string("calibration ") + name);
      for (std::size_t k = 0; k < packed.size(); ++k) sigmoids_[k].*number = packed[k];
    }
    visitor.scratch(sigmoids_);
    if (!visitor.loading()) return;
    for (const Sigmoid& sigmoid : sigmoids_) require(sigmoid.sound(), "calibration");
  }

 private:
  // Solves every sigmoid, then forgets the share of so many rows.
  void solve(double rows) {
    const double window = std::min(kWindow, 1.0 + 0.25 * static_cast<double>(rows_));
    for (Sigmoid& sigmoid : sigmoids_) {
      sigmoid.solve();
      sigmoid.forget(1.0 - rows / window);
    }
  }

  // The lead of each output over the best other one.
  class Rivals {
   public:
    explicit Rivals(std::span<const double> outputs) : outputs_(outputs) {
      second_ = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 1; k < outputs.size(); ++k) {
        if (outputs[k] > outputs[best_]) {
          second_ = outputs[best_];
          best_ = k;
        } else {
          second_ = std::max(second_, outputs[k]);
        }
      }
    }
    [[nodiscard]] double margin(std::size_t k) const {
      return outputs_[k] - (k == best_ ? second_ : outputs_[best_]);
    }

   private:
    std::span<const double> outputs_;
    std::size_t best_ = 0;
    double second_;
  };

  static double log_sigmoid(double z) {
    return std::min(z, 0.0) - std::log1p(std::exp(-std::abs(z)));
  }

  // From logarithms to shares of 1: the largest is never lost.
  static void normalise(std::span<double> logs) {
    const double largest = *std::max_element(logs.begin(), logs.end());
    double total = 0.0;
    for (double& each : logs) total += each = std::exp(each - largest);
    for (double& each : logs) each /= total;
  }

  std::vector<Sigmoid> sigmoids_;  // as many as outputs
  std::int64_t rows_ = 0;          // counted
};

}  // namespace budgetron
