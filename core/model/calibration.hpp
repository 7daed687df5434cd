// Turns decisions into probabilities: one line per side of a class, fitted to the margins recorded
// before their rows were learned.
//
// The margin of a class is its output minus the best other one, m_k = f_k - max_j f_j (j != k). It
// is above 0 if the class is predicted and below 0 if another one is. Each *side* has a line of its
// own,
//
//   log odds that the side is right  =  z(m) = slope |m| + offset,
//
// where above 0 "right" means that the row is of the class, and below 0 that it is not. Two classes
// have one output, m = f(x), and the two sides of the second class. A single class is counted as if
// there were a second class without rows. With more than two classes the values sigmoid(+-z) of all
// classes are divided by their sum.
//
// **The class that `predict` returns always has the highest probability.**
//   two classes  the log odds of the predicted class are z where z > 0. They start at 0 with f: if
//                the offset is above 0 they rise to it within kRamp of the usual |f|, and where the
//                line is below 0 they keep a share kLeastSlope of its slope
//   more         classes that are likelier than the predicted one get the mean of their
//                probabilities and its own, and so does it: of all answers in which it is the
//                likeliest, this has the best expected log loss under the fit
//   ties         a class that would only be as likely as another gets the next larger float
//
// The fit is the recursive form of logistic regression by its quadratic bound (Jaakkola, Jordan,
// 2000): with each row's z at its time, c = tanh(z/2)/(2 z) <= 1/4, and t = 1 if the side was
// right, else 0, the slope and offset that solve
//
//   [ sum c m m   sum c m ] [ slope  ]   [ sum (t - 1/2) m ]
//   [ sum c m     sum c   ] [ offset ] = [ sum (t - 1/2)   ]      with m = |m|
//
// converge to those of the logistic fit, and no step on the way can overshoot. The scale of f does
// not matter; rows count by their weights. A row with margin 0 is on no side.
//
//   forgetting  early margins are those of an untrained model: the sums of a side keep about the
//               last sixth of its rows, and never more than about the last kWindow
//   solving     after each of the first kEach rows, then after every kBlock-th, which is also when
//               rows are forgotten
//   prior       slope and offset 0, with the weight of one row
//   slope > 0   at least kLeastSlope over the root mean square of m. If every m is 0 it is 1
//
// Rows with a squared output or a weight above kMost are left out, so that no sum overflows. Cost:
// O(K) per round; memory eleven float64 per side. Reasons: docs/develop/decisions/0038.
//
// A `Counter` takes the rows of one call. It buffers rows of two classes until the sums are needed:
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

// The line of one side of a class, and the sums that determine it. Margins are absolute values.
class Side {
 public:
  static constexpr double kWindow = 1000.0;
  static constexpr double kShare = 1.0 / 6.0;
  static constexpr double kPrior = 1.0;
  static constexpr double kLeastSlope = 1e-3;
  static constexpr double kRamp = 0.01;
  static constexpr double kLeastSquare = 1e-200;  // smaller margins count as 0
  // A determinant below this share is rounding. Ordinary weights keep it far above, through the
  // prior; one row of weight 1e20 among others of 1 does not.
  static constexpr double kSingular = 1e-12;

  // The log odds that this side is right.
  [[nodiscard]] double operator()(double margin) const { return slope_ * margin + offset_; }

  // The same for two classes: 0 at 0, and rising with the margin. Each of the three lines rises, so
  // rounding cannot make it fall.
  [[nodiscard]] double held(double margin) const {
    double steep = slope_;
    if (offset_ > 0.0) steep += offset_ / (kRamp * std::sqrt(squares_ / weight_));
    return std::min(steep * margin,
                    std::max(slope_ * margin + offset_, kLeastSlope * slope_ * margin));
  }

  // Counts one row on this side.
  void count(double margin, bool right, double weight) {
    // Looked up: a branch on labels is mispredicted too often.
    static constexpr double kPulls[] = {-0.5, 0.5};
    const double pull = kPulls[static_cast<std::size_t>(right)] * weight;
    const double curve = weight * bend((*this)(margin));
    const double curve_m = curve * margin;
    fresh_ += 1.0;
    weight_ += weight;
    squares_ += weight * margin * margin;
    curve_mm_ += curve_m * margin;
    curve_m_ += curve_m;
    curve_ += curve;
    pull_m_ += pull * margin;
    pull_ += pull;
  }

  // Solves for the line, then forgets a share of the sums. Does nothing if there was no row.
  void solve() {
    if (fresh_ == 0.0) return;
    const double prior = 0.25 * kPrior;
    const double curve = curve_ + prior;
    slope_ = 1.0;
    const double square = weight_ > 0.0 ? squares_ / weight_ : 0.0;
    if (square >= kLeastSquare) {
      const double curve_mm = curve_mm_ + prior * square;
      const double least = kLeastSlope / std::sqrt(square);
      const double determinant = curve_mm * curve - curve_m_ * curve_m_;
      const double free = determinant > kSingular * curve_mm * curve
                              ? (curve * pull_m_ - curve_m_ * pull_) / determinant
                              : least;
      slope_ = free > least ? free : least;
    }
    offset_ = (pull_ - curve_m_ * slope_) / curve;
    forget();
  }

  // The whole state, by name.
  static constexpr std::size_t kCount = 11;
  static const std::array<std::pair<const char*, double Side::*>, kCount> kNumbers;

  // tanh(z/2)/(2 z) to one part in 10,000, without an exponential: a rational approximation up to
  // |z| = 10; beyond it tanh is 1.
  static double bend(double z) {
    const double x = 0.5 * std::abs(z);
    const double s = x * x;
    const bool inner = x < 5.0;
    const double above = inner ? 135135.0 + s * (17325.0 + s * (378.0 + s)) : 1.0;
    const double below = inner ? 135135.0 + s * (62370.0 + s * (3150.0 + s * 28.0)) : x;
    return 0.25 * above / below;
  }

  // Whether rows could have produced these numbers, so that learning from them stays finite.
  [[nodiscard]] bool sound() const {
    for (const auto& [name, number] : kNumbers) {
      if (!(std::abs(this->*number) <= 1e150)) return false;
    }
    for (const double sum : {rows_, fresh_, weight_, squares_, curve_mm_, curve_m_, curve_}) {
      if (sum < 0.0) return false;
    }
    return curve_m_ * curve_m_ <= (1.0 + 1e-9) * curve_mm_ * curve_ + kLeastSquare && slope_ > 0.0;
  }

 private:
  void forget() {
    rows_ += fresh_;
    const double window = std::min(kWindow, kShare * rows_);
    const double keep = window / (window + fresh_);
    for (double* sum : {&weight_, &squares_, &curve_mm_, &curve_m_, &curve_, &pull_m_, &pull_}) {
      *sum *= keep;
    }
    fresh_ = 0.0;
  }

  double rows_ = 0.0;      // counted and included in the line
  double fresh_ = 0.0;     // counted since
  double weight_ = 0.0;    // of the rows that are not forgotten
  double squares_ = 0.0;   // sum m m
  double curve_mm_ = 0.0;  // sum c m m
  double curve_m_ = 0.0;   // sum c m
  double curve_ = 0.0;     // sum c
  double pull_m_ = 0.0;    // sum (t - 1/2) m
  double pull_ = 0.0;      // sum (t - 1/2)
  double slope_ = 1.0;
  double offset_ = 0.0;
};

inline constexpr std::array<std::pair<const char*, double Side::*>, Side::kCount> Side::kNumbers{
    {{"side_rows", &Side::rows_},
     {"fresh", &Side::fresh_},
     {"weight", &Side::weight_},
     {"squares", &Side::squares_},
     {"curve_mm", &Side::curve_mm_},
     {"curve_m", &Side::curve_m_},
     {"curve", &Side::curve_},
     {"pull_m", &Side::pull_m_},
     {"pull", &Side::pull_},
     {"slope", &Side::slope_},
     {"offset", &Side::offset_}}};

class Calibration {
 public:
  static constexpr std::int64_t kEach = 256;
  static constexpr std::int64_t kBlock = 32;
  static constexpr double kMost = 1e100;

  explicit Calibration(std::size_t outputs) : classes_(outputs) {}

  // Counts the rows of one call, which holds the lock. The destructor counts the rest.
  class Counter {
   public:
    // Null: nothing is counted.
    explicit Counter(Calibration* calibration) : calibration_(calibration) {}
    ~Counter() { flush(); }
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;

    [[nodiscard]] bool counts() const { return calibration_ != nullptr; }

    // Counts a row of class `code` with the decision made before it was learned.
    void count(std::span<const double> outputs, std::size_t code, double weight) {
      if (!(weight <= kMost)) return;
      for (const double output : outputs) {
        if (!(weight * output * output <= kMost && output * output <= kMost)) return;
      }
      if (outputs.size() == 1) {
        static constexpr double kSigns[] = {-1.0, 1.0};  // looked up, as in Side::count
        rows_[waiting_++] = {outputs[0], weight * kSigns[static_cast<std::size_t>(code == 1)]};
      } else {
        const Rivals rivals(outputs);
        for (std::size_t k = 0; k < outputs.size(); ++k) {
          calibration_->classes_[k].count(rivals.margin(k), k == code, weight);
        }
      }
      const std::int64_t rows = ++calibration_->rows_;
      if (rows > kEach && rows % kBlock != 0) return;
      flush();
      for (Sides& sides : calibration_->classes_) {
        sides.below.solve();
        sides.above.solve();
      }
    }

    // Adds the buffered rows in their order: answers need the sums too.
    void flush() {
      for (std::size_t i = 0; i < waiting_; ++i) {
        calibration_->classes_[0].count(rows_[i].margin, rows_[i].weight > 0.0,
                                        std::abs(rows_[i].weight));
      }
      waiting_ = 0;
    }

   private:
    struct Row {
      double margin;
      double weight;  // negative: of the other class
    };

    Calibration* calibration_;
    std::size_t waiting_ = 0;
    Row rows_[kBlock];  // buffered
  };

  // The probability of every class, from the decision on a row. A single class has probability 1.
  void answer(std::span<const double> outputs, std::span<double> probabilities) const {
    if (probabilities.empty()) return;
    if (probabilities.size() == 1) {
      probabilities[0] = 1.0;
    } else if (outputs.size() == 1) {
      const bool second = outputs[0] >= 0.0;
      answer_two(classes_[0], outputs[0], second, probabilities);
    } else if (outputs.size() == 2) {
      const bool second = outputs[1] > outputs[0];
      answer_two(classes_[1], outputs[1] - outputs[0], second, probabilities);
    } else if (const std::size_t lost = first_nan(outputs); lost < outputs.size()) {
      std::fill(probabilities.begin(), probabilities.end(),
                1.0 / static_cast<double>(outputs.size()));
      hold(probabilities, lost);  // the class that NumPy's argmax returns
    } else {
      const Rivals rivals(outputs);
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        probabilities[k] = log_sigmoid(classes_[k].log_odds(rivals.margin(k), k == rivals.best()));
      }
      normalise(probabilities);
      hold(probabilities, rivals.best());
    }
  }

  // A class has joined: it starts without rows, the others keep their sums. A single class has m >
  // 0 when it is predicted; it may become the first of two, and then its side is m < 0.
  void rearrange(const ClassChange& change) {
    const std::size_t outputs = ClassChange::outputs(change.after);
    if (outputs == classes_.size() && outputs == 1) {
      if (change.before == 1 && change.order[0] == 0)
        std::swap(classes_[0].below, classes_[0].above);
      return;
    }
    if (classes_.size() > 1 && change.one_joins()) {
      classes_.insert(classes_.begin() + static_cast<std::ptrdiff_t>(change.first_new()), Sides());
      return;
    }
    std::vector<Sides> known = std::move(classes_);
    if (known.size() == 1 && change.before == 2)
      known = {{known[0].above, known[0].below}, known[0]};
    classes_.assign(outputs, {});
    for (std::size_t k = 0; k < outputs; ++k) {
      const int from = change.order[k];
      if (from >= 0) classes_[k] = known[static_cast<std::size_t>(from)];
    }
  }

  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this));
    visitor.field("rows", rows_);
    std::vector<double> packed;  // the side below 0 of each class, then the side above
    for (const auto& [name, number] : Side::kNumbers) {
      packed.clear();
      if (visitor.mode() == StateVisitor::Mode::save) {
        for (const Sides& sides : classes_) {
          packed.push_back(sides.below.*number);
          packed.push_back(sides.above.*number);
        }
      }
      visitor.field(name, packed);
      if (!visitor.loading()) continue;
      require(packed.size() == 2 * classes_.size(), std::string("calibration ") + name);
      for (std::size_t k = 0; k < classes_.size(); ++k) {
        classes_[k].below.*number = packed[2 * k];
        classes_[k].above.*number = packed[2 * k + 1];
      }
    }
    visitor.scratch(classes_);
    if (!visitor.loading()) return;
    for (const Sides& sides : classes_) {
      require(sides.below.sound() && sides.above.sound(), "calibration");
    }
  }

 private:
  struct Sides {
    Side below;  // another class is predicted
    Side above;  // this one is

    void count(double margin, bool own, double weight) {
      if (margin == 0.0) return;
      (margin > 0.0 ? above : below).count(std::abs(margin), own == (margin > 0.0), weight);
    }
    // The log odds that a row is of the class.
    [[nodiscard]] double log_odds(double margin, bool predicted) const {
      return predicted ? above(margin) : -below(-margin);
    }
  };

  // The probabilities of two classes, from the sides of the second. The predicted class gets at
  // least the next float above 1/2, the other at most 1/2.
  static void answer_two(const Sides& sides, double margin, bool second,
                         std::span<double> probabilities) {
    constexpr double kMoreThanHalf = 0.5 + 0.5 * std::numeric_limits<double>::epsilon();
    double z = (second ? sides.above : sides.below).held(std::abs(margin));
    if (!(z > 0.0)) z = 0.0;  // margin 0, or a row so far out that f is NaN
    const double small = std::exp(-z);
    probabilities[second ? 1 : 0] = std::max(1.0 / (1.0 + small), kMoreThanHalf);
    probabilities[second ? 0 : 1] = small / (1.0 + small);
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
    [[nodiscard]] std::size_t best() const { return best_; }  // the first if several are equal
    [[nodiscard]] double margin(std::size_t k) const {
      const double rival = k == best_ ? second_ : outputs_[best_];
      return outputs_[k] == rival ? 0.0 : outputs_[k] - rival;  // also if both are infinite
    }

   private:
    std::span<const double> outputs_;
    std::size_t best_ = 0;
    double second_;
  };

  // For a row so far out that sums overflow.
  static std::size_t first_nan(std::span<const double> outputs) {
    const auto at = std::find_if(outputs.begin(), outputs.end(),
                                 [](double output) { return std::isnan(output); });
    return static_cast<std::size_t>(at - outputs.begin());
  }

  static double log_sigmoid(double z) {
    return std::min(z, 0.0) - std::log1p(std::exp(-std::abs(z)));
  }

  // From logarithms to shares that sum to 1: the largest never becomes 0.
  static void normalise(std::span<double> logs) {
    const double largest = *std::max_element(logs.begin(), logs.end());
    double total = 0.0;
    for (double& each : logs) total += each = std::exp(each - largest);
    for (double& each : logs) each /= total;
  }

  // Makes class `best` the likeliest. It and all classes above a level get the level; the level is
  // raised until it is the mean of these.
  static void hold(std::span<double> shares, std::size_t best) {
    double level = shares[best];
    for (std::size_t above = shares.size(); above > 0;) {
      double sum = shares[best];
      std::size_t count = 0;
      for (std::size_t k = 0; k < shares.size(); ++k) {
        if (k == best || !(shares[k] > level)) continue;
        sum += shares[k];
        ++count;
      }
      if (count == above) break;
      above = count;
      level = sum / static_cast<double>(count + 1);
    }
    double most = 0.0;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (k != best) most = std::max(most, shares[k] = std::min(shares[k], level));
    }
    shares[best] = std::max(level, std::nextafter(most, 2.0));
  }

  std::vector<Sides> classes_;  // one per output
  std::int64_t rows_ = 0;       // rows counted
};

}  // namespace budgetron
