// A race of learners: other learners (contenders) learn beside the model's own from the same rows.
// One that is clearly better replaces it (docs/develop/decisions/0053, 0054).
//
//   d_t    the model's loss in round t minus the contender's, times the row's weight: mistakes, in
//          regression |error|. Both answer before they learn.
//   z      sum d_t / sqrt(V)      about N(0, 1) if both are equally good
//   V      sum d_t^2, but at least sum (d_t/w_t)^2 times the mean of w^2 over all rows so far: the
//          value if the two differed in heavy rows as often as in all. With class weights heavy
//          rows are few, and sum d_t^2 does not include them until the two have differed in some
//          (docs/develop/decisions/0056). Without weights both are the same.
//
// There are four kinds of contenders:
//
//   width     4 and 16 times the gamma of the median rule, half of the budget; starts after the
//             warm-up. It missed those rows, so its first kYoung rows do not count.
//   straight  a learner with a straight part and the whole budget, if the model's learner dropped
//             its own because rows are dense; starts with the widths, and is counted like them
//   metric    a copy of the model's learner that sees rows in the metric that its gradients suggest
//             (metric.hpp); starts in rounds 400, 800, 1600, ..., if there is none and it differs
//   memory    a new learner with the whole budget that stores every row with loss in place of the
//             oldest example, without a straight part; if the model's learner is one, a new learner
//             that keeps the most useful examples. Starts in the same rounds as metrics, and at a
//             drift, if there is none; its first kYoung rows do not count either
//             (docs/develop/decisions/0075)
//
// Every kCheck rows, for contenders that have been there for kFirst rows:
//
//   z > win   (kAfterWin for narrower ones after a width's win) the contender with the largest lead
//             becomes the model's learner. After a width's win it and narrower ones get the whole
//             budget; all others leave. After the win of a memory all leave, and widths with that
//             memory start. After the win of another kind, its kind and metrics leave. Those who
//             stay are compared again, with the new learner.
//   z < lose  it leaves
//   z < 0     kDoubt rows after its start or the last win: it leaves
//   z < hope  `patience` rows after its start or the last win: it leaves
//   row `last`: it leaves
//
// With a byte limit widths use the memory that the warm-up has freed: as many examples as fit
// there, but at most half of the budget, and no race if fewer than kFewest fit. A winner gets the
// whole budget, others stay as they are. A metric or memory, a whole learner, never fits.
//
// The model's learner does not depend on the race: if nobody wins, only time is lost. The
// contenders' memory is freed when they leave.
//
// Rows of later epochs, which the learners have learned before, would not show which is better: the
// first of them ends the race.
//
// Cost: each contender costs the rounds of a learner with its budget, while it stays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "learners/learner.hpp"
#include "model/metric.hpp"

namespace budgetron {

// When a kind of contender wins and leaves.
struct RaceRules {
  double win;
  double lose;
  double hope;
  std::int64_t patience;  // rows
  std::int64_t last;
};

// A learner that answers and learns beside the model's own.
template <class Real>
struct Contender {
  double factor = 1.0;    // times the gamma of the median rule
  double gamma = 1.0;     // its current gamma
  bool measures = false;  // it is a metric: it sees rows in its own
  bool straight = false;  // it has a straight part, unlike the model's learner
  bool memory = false;    // it keeps other examples than the model's learner
  Metric metric = {};
  std::unique_ptr<Learner<Real>> learner = nullptr;
  std::int64_t rows = 0;      // since its start
  std::int64_t compared = 0;  // of these, since the last win
  double ahead = 0.0;         // sum of d
  double squares = 0.0;       // sum of d^2
  double plain = 0.0;         // sum of (d/w)^2
  Row<Real> row = {};
  OwnedSample<Real> shown = {};
  std::vector<double> outputs = {};
  std::vector<double> direction = {};

  [[nodiscard]] bool is_width() const { return !measures && !straight && !memory; }
  // `square`: the mean of w^2.
  [[nodiscard]] double z(double square) const {
    return squares > 0.0 ? ahead / std::sqrt(std::max(squares, plain * square)) : 0.0;
  }
  // `difference`: d/w.
  void count(double difference, double weight) {
    ++rows;
    if (!measures && rows <= kYoung) return;
    ++compared;
    const double weighed = weight * difference;
    ahead += weighed;
    squares += weighed * weighed;
    plain += difference * difference;
  }
  void compare_anew() {
    ahead = squares = plain = 0.0;
    compared = 0;
  }
  [[nodiscard]] const RaceRules& rules() const {
    static constexpr RaceRules kWidth{4.0, -2.0, 1.5, 2000, kLast};
    static constexpr RaceRules kMetric{2.5, -2.0, 0.0, kDoubt, 3000};
    static constexpr RaceRules kStraight{2.5, -2.0, 1.5, 2000, kLast};
    static constexpr RaceRules kMemory{4.0, -2.0, 1.0, kDoubt, 3000};
    // The most useful examples are the rule, so that they come back more easily than they go.
    const bool back = memory && !learner->recent();
    return measures ? kMetric : straight || back ? kStraight : memory ? kMemory : kWidth;
  }
  [[nodiscard]] bool compares() const { return rows >= kFirst && rows % kCheck == 0; }
  // `after`: a width has won before, so narrower ones are more likely to be better.
  [[nodiscard]] bool wins(double square, bool after) const {
    return compares() && z(square) > (after && is_width() ? kAfterWin : rules().win);
  }
  [[nodiscard]] bool leaves(double square) const {
    return compares() && (z(square) < rules().lose || rows >= rules().last ||
                          (compared >= kDoubt && z(square) < 0.0) ||
                          (compared >= rules().patience && z(square) < rules().hope));
  }

  static constexpr double kAfterWin = 2.5;     // z
  static constexpr std::int64_t kFirst = 300;  // rows
  static constexpr std::int64_t kCheck = 100;
  static constexpr std::int64_t kDoubt = 500;
  static constexpr std::int64_t kLast = 6000;  // the longest stay
  static constexpr std::int64_t kYoung =
      200;  // rows that a width, which starts later, gets to catch up
};

template <class Real>
class Race {
 public:
  static constexpr double kFactors[] = {4.0, 16.0};
  static constexpr double kBudget = 0.5;     // a width's share of the budget, until one wins
  static constexpr std::size_t kFewest = 8;  // examples

  // `limited`: with a byte limit.
  explicit Race(bool widths, bool limited = false) : widths_(widths), limited_(limited) {}

  // Widths have not started: gamma is not yet found.
  [[nodiscard]] bool waiting() const { return widths_ && !begun_; }
  // Whether it finds the multiple of the median rule's gamma; otherwise that is given.
  [[nodiscard]] bool finds_factor() const { return widths_; }
  [[nodiscard]] bool running() const { return !contenders_.empty(); }
  [[nodiscard]] bool measures() const {
    return std::any_of(contenders_.begin(), contenders_.end(),
                       [](const auto& each) { return each.measures; });
  }
  [[nodiscard]] bool has_straight() const {
    return std::any_of(contenders_.begin(), contenders_.end(),
                       [](const auto& each) { return each.straight; });
  }
  [[nodiscard]] bool has_memory() const {
    return std::any_of(contenders_.begin(), contenders_.end(),
                       [](const auto& each) { return each.memory; });
  }
  // The multiple of the median rule's gamma that has won so far.
  [[nodiscard]] double factor() const { return factor_; }
  [[nodiscard]] std::vector<Contender<Real>>& contenders() { return contenders_; }
  Random& random() { return random_; }

  void begin() { begun_ = true; }
  // Starts widths with a byte limit and this share of the budget; 0: they do not fit.
  void begin_limited(double share) {
    begun_ = limited_ = true;
    share_ = share;
  }
  // Ends the race; from now on there is a byte limit.
  void end_limited() {
    end();
    if (begun_) limited_ = true;
  }
  void add(Contender<Real> contender) { contenders_.push_back(std::move(contender)); }
  void end() { std::vector<Contender<Real>>().swap(contenders_); }

  // Counts a row of the stream, also if nobody races.
  void count(double row_weight) {
    const double weight = bounded(row_weight);
    squares_ += weight * weight;
    ++rows_;
  }
  // A weight whose square is finite.
  [[nodiscard]] static double bounded(double weight) { return std::clamp(weight, 1e-100, 1e100); }

  // A width's share of the budget: the whole after a win, because narrow kernels have proved
  // useful.
  [[nodiscard]] double share() const {
    if (limited_) return share_;
    return factor_ == 1.0 ? kBudget : 1.0;
  }

  // Ends a round. Calls `win(contender)` for the one that replaces the model's learner and then
  // leaves, and `raise(contender)` for those that get the whole budget.
  template <class Win, class Raise>
  void check(Win win, Raise raise) {
    const double square = rows_ > 0 ? squares_ / static_cast<double>(rows_) : 1.0;
    Contender<Real>* best = nullptr;
    for (Contender<Real>& each : contenders_) {
      if (each.wins(square, factor_ > 1.0) && (best == nullptr || each.ahead > best->ahead))
        best = &each;
    }
    if (best != nullptr) {
      win(*best);
      const bool width = best->is_width();
      const bool straight = best->straight;
      const bool memory = best->memory;
      if (width) factor_ = best->factor;
      std::erase_if(contenders_, [&](const auto& each) {
        return memory || each.measures || (straight && each.straight) ||
               (width && !(each.is_width() && each.factor > factor_));
      });
      for (Contender<Real>& each : contenders_) {
        each.compare_anew();
        if (width && !limited_) raise(each);
      }
    } else {
      std::erase_if(contenders_, [&](const auto& each) { return each.leaves(square); });
    }
    if (contenders_.empty()) end();
  }

  // ---- changes of the model's learner apply to the contenders too
  // --------------------------------
  void change_units(const UnitChange& change, const Metric& metric) {
    for (Contender<Real>& each : contenders_) {
      const MeasuredChange measured(change, each.measures ? each.metric : metric);
      each.gamma = each.learner->change_units(measured, each.factor).gamma;
    }
  }
  // The model's metric changed; contenders with their own metric have left.
  void change_metric(const MetricChange& change) {
    for (Contender<Real>& each : contenders_) {
      if (!each.measures) each.gamma = each.learner->change_units(change, each.factor).gamma;
    }
  }
  void scale_targets(double factor) {
    for (Contender<Real>& each : contenders_) {
      each.learner->scale_targets(factor);
      each.ahead *= factor;
      each.squares *= factor * factor;
      each.plain *= factor * factor;
    }
  }
  void doubt() {
    for (Contender<Real>& each : contenders_) each.learner->doubt();
  }
  void shift_targets(double by) {
    for (Contender<Real>& each : contenders_) each.learner->shift_targets(by);
  }
  void rearrange(const ClassChange& change) {
    for (Contender<Real>& each : contenders_) each.learner->rearrange(change);
  }
  void check_invariants() const {
    for (const Contender<Real>& each : contenders_) each.learner->check_invariants();
  }

  // `make(contender)` gives it a learner to load into.
  template <class Make>
  void visit_state(StateVisitor& visitor, Make make) {
    visitor.part_if(rows_ > 0, "race", *this);
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      Contender<Real>& each = contenders_[i];
      if (visitor.loading()) make(each);
      const std::string name = "contender" + std::to_string(i);
      visitor.part(name, *each.learner);
      visitor.part(name + "_row", each.row);
      visitor.scratch(each.shown.values);
      visitor.scratch(each.shown.indices);
      visitor.scratch(each.outputs);
      visitor.scratch(each.direction);
    }
  }
  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this) + contenders_.capacity() * sizeof(Contender<Real>));
    std::vector<double> numbers;
    std::vector<std::int64_t> counts;
    for (const Contender<Real>& each : contenders_) {
      numbers.insert(numbers.end(),
                     {each.factor, each.gamma, each.ahead, each.squares, each.plain});
      counts.insert(counts.end(), {each.measures   ? 1
                                   : each.straight ? 2
                                   : each.memory   ? 3
                                                   : 0,
                                   each.rows, each.compared});
    }
    visitor.field("begun", begun_);
    visitor.field("factor", factor_);
    visitor.field("rows", rows_);
    visitor.field("weight_squares", squares_);
    if (visitor.mode() != StateVisitor::Mode::count) {
      visitor.field("numbers", numbers);
      visitor.field("counts", counts);
    }
    if (limited_ && begun_) visitor.field("share", share_);
    visitor.part("random", random_);
    if (visitor.loading()) load(numbers, counts);
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      Contender<Real>& each = contenders_[i];
      if (each.measures) visitor.part("metric" + std::to_string(i), each.metric);
    }
  }

 private:
  void load(const std::vector<double>& numbers, const std::vector<std::int64_t>& counts) {
    const auto possible = [](double factor) {
      return factor == 1.0 ||
             std::find(std::begin(kFactors), std::end(kFactors), factor) != std::end(kFactors);
    };
    constexpr std::size_t most = std::size(kFactors) + 3;
    constexpr std::size_t each_has = 5;
    const std::size_t count = numbers.size() / each_has;
    require(share_ >= 0.0 && share_ <= 1.0 && (share_ > 0.0 || !limited_ || numbers.empty()),
            "race");
    require(rows_ >= 0 && squares_ >= 0.0 && std::isfinite(squares_) && possible(factor_) &&
                numbers.size() == each_has * count && count <= most && counts.size() == 3 * count &&
                all_finite(numbers),
            "race");
    end();
    for (std::size_t i = 0; i < count; ++i) {
      Contender<Real> each;
      const double* const number = numbers.data() + each_has * i;
      each.factor = number[0];
      each.gamma = number[1];
      each.ahead = number[2];
      each.squares = number[3];
      each.plain = number[4];
      each.measures = counts[3 * i] == 1;
      each.straight = counts[3 * i] == 2;
      each.memory = counts[3 * i] == 3;
      each.rows = counts[3 * i + 1];
      each.compared = counts[3 * i + 2];
      require((widths_ ? possible(each.factor) : each.measures) && each.gamma > 0.0 &&
                  each.squares >= 0.0 && each.plain >= 0.0 && counts[3 * i] >= 0 &&
                  counts[3 * i] <= (limited_ ? 0 : 3) && each.compared >= 0 &&
                  each.compared <= each.rows &&
                  each.rows < Contender<Real>::kLast + Contender<Real>::kCheck &&
                  (!each.measures || !measures()) && (!each.straight || !has_straight()) &&
                  (!each.memory || !has_memory()) &&
                  (each.is_width() ? each.factor > factor_ : !widths_ || each.factor == factor_),
              "race");
      contenders_.push_back(std::move(each));
    }
  }

  bool widths_;
  bool limited_;
  bool begun_ = false;
  double share_ = 0.0;  // of the budget, with a byte limit
  double factor_ = 1.0;
  std::int64_t rows_ = 0;  // of the stream
  double squares_ = 0.0;   // sum of w^2
  Random random_{0};
  std::vector<Contender<Real>> contenders_;
};

}  // namespace budgetron
