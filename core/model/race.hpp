// A race of learners: while the model learns, others learn beside it from the same rows. One that
// is clearly better takes its place (docs/develop/decisions/0053, 0054).
//
//   d_t    what the model loses in round t less what the contender does, times the row's weight:
//          mistakes, in regression |error|. Both answer before they learn.
//   z      sum d_t / sqrt(sum d_t^2)      about N(0, 1) if both are equally good
//
// There are two kinds of contenders:
//
//   width  4 and 16 times the gamma that the median rule finds, half of the budget; from the first
//          row after the warm-up on. It has missed that, so its first kYoung rows do not count.
//   metric a copy of the model's learner that sees rows in the metric which its gradients suggest
//          (metric.hpp); from rounds 400, 800, 1600, ... on, if none is there and it differs
//
// Every kCheck rows, those who have been there for kFirst rows:
//
//   z > win   the contender, of several the one that is most ahead, becomes the model's learner.
//             After a width's win it and narrower ones have the whole budget; other widths, and
//             metrics, leave. Those who stay are compared anew, with the new learner.
//   z < lose  it leaves
//   z < hope  `patience` rows after it began or somebody won: it leaves
//   row `last`: it leaves
//
// The model's learner knows nothing of the race: where nobody wins, nothing is lost but the time.
// The contenders' memory is freed when they leave.
//
// Rows of later epochs, which the learners have learned before, would not show who is better: the
// first of them ends the race.
//
// Cost: a contender's round is that of a learner with its budget, in the rows that it stays.
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
  double gamma = 1.0;     // that it has now
  bool measures = false;  // it is a metric: rows are shown to it in its own
  Metric metric = {};
  std::unique_ptr<Learner<Real>> learner = nullptr;
  std::int64_t rows = 0;      // since it began
  std::int64_t compared = 0;  // of these since somebody won
  double ahead = 0.0;         // sum of d
  double squares = 0.0;       // and of its squares
  Row<Real> row = {};
  OwnedSample<Real> shown = {};
  std::vector<double> outputs = {};
  std::vector<double> direction = {};

  [[nodiscard]] double z() const { return squares > 0.0 ? ahead / std::sqrt(squares) : 0.0; }
  void count(double difference) {
    ++rows;
    if (!measures && rows <= kYoung) return;
    ++compared;
    ahead += difference;
    squares += difference * difference;
  }
  [[nodiscard]] const RaceRules& rules() const {
    static constexpr RaceRules kWidth{4.0, -2.0, 1.5, 2000, 10000};
    static constexpr RaceRules kMetric{2.5, -2.0, 0.0, 1000, 3000};
    return measures ? kMetric : kWidth;
  }
  [[nodiscard]] bool compares() const { return rows >= kFirst && rows % kCheck == 0; }
  [[nodiscard]] bool wins() const { return compares() && z() > rules().win; }
  [[nodiscard]] bool leaves() const {
    return compares() && (z() < rules().lose || rows >= rules().last ||
                          (compared >= rules().patience && z() < rules().hope));
  }

  static constexpr std::int64_t kFirst = 300;  // rows
  static constexpr std::int64_t kCheck = 100;
  static constexpr std::int64_t kYoung =
      200;  // rows in which a width, which begins later, catches up
};

template <class Real>
class Race {
 public:
  static constexpr double kFactors[] = {4.0, 16.0};
  static constexpr double kBudget = 0.5;  // a width's share of the budget, until one wins

  explicit Race(bool widths) : widths_(widths) {}

  // Widths are still to begin: gamma is not yet found.
  [[nodiscard]] bool waiting() const { return widths_ && !begun_; }
  [[nodiscard]] bool running() const { return !contenders_.empty(); }
  [[nodiscard]] bool measures() const {
    return std::any_of(contenders_.begin(), contenders_.end(),
                       [](const auto& each) { return each.measures; });
  }
  // The multiple of the median rule's gamma that has won so far.
  [[nodiscard]] double factor() const { return factor_; }
  [[nodiscard]] std::vector<Contender<Real>>& contenders() { return contenders_; }
  Random& random() { return random_; }

  void begin() { begun_ = true; }
  void add(Contender<Real> contender) { contenders_.push_back(std::move(contender)); }
  void end() { std::vector<Contender<Real>>().swap(contenders_); }

  // The budget's share of a width: after a win narrow kernels are known to be worth it.
  [[nodiscard]] double share() const { return factor_ == 1.0 ? kBudget : 1.0; }

  // Ends a round. Calls `win(contender)` for the one that takes the model's place, which then
  // leaves, and `raise(contender)` for those who get the whole budget.
  template <class Win, class Raise>
  void check(Win win, Raise raise) {
    Contender<Real>* best = nullptr;
    for (Contender<Real>& each : contenders_) {
      if (each.wins() && (best == nullptr || each.ahead > best->ahead)) best = &each;
    }
    if (best != nullptr) {
      win(*best);
      const bool measures = best->measures;
      if (!measures) factor_ = best->factor;
      std::erase_if(contenders_, [&](const auto& each) {
        return each.measures || (!measures && !(each.factor > factor_));
      });
      for (Contender<Real>& each : contenders_) {
        each.ahead = each.squares = 0.0;
        each.compared = 0;
        if (!measures) raise(each);
      }
    } else {
      std::erase_if(contenders_, [](const auto& each) { return each.leaves(); });
    }
    if (contenders_.empty()) end();
  }

  // ---- what happens to the model's learner happens to them --------------------------------------
  void change_units(const UnitChange& change, const Metric& metric) {
    for (Contender<Real>& each : contenders_) {
      const MeasuredChange measured(change, each.measures ? each.metric : metric);
      each.gamma = each.learner->change_units(measured, each.factor).gamma;
    }
  }
  // The model's metric is another; those with a metric of their own have left.
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

  // `make(contender)`: a learner to load it into.
  template <class Make>
  void visit_state(StateVisitor& visitor, Make make) {
    visitor.part_if(begun_ || running(), "race", *this);
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      Contender<Real>& each = contenders_[i];
      if (visitor.loading()) each.learner = make(each);
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
      numbers.insert(numbers.end(), {each.factor, each.gamma, each.ahead, each.squares});
      counts.insert(counts.end(), {each.measures ? 1 : 0, each.rows, each.compared});
    }
    visitor.field("begun", begun_);
    visitor.field("factor", factor_);
    if (visitor.mode() != StateVisitor::Mode::count) {
      visitor.field("numbers", numbers);
      visitor.field("counts", counts);
    }
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
    constexpr std::size_t most = std::size(kFactors) + 1;
    require(possible(factor_) && numbers.size() % 4 == 0 && numbers.size() <= 4 * most &&
                counts.size() * 4 == numbers.size() * 3 && all_finite(numbers),
            "race");
    end();
    for (std::size_t i = 0; i < numbers.size() / 4; ++i) {
      Contender<Real> each;
      each.factor = numbers[4 * i];
      each.gamma = numbers[4 * i + 1];
      each.ahead = numbers[4 * i + 2];
      each.squares = numbers[4 * i + 3];
      each.measures = counts[3 * i] == 1;
      each.rows = counts[3 * i + 1];
      each.compared = counts[3 * i + 2];
      require(possible(each.factor) && each.gamma > 0.0 && each.squares >= 0.0 &&
                  counts[3 * i] >= 0 && counts[3 * i] <= 1 && each.compared >= 0 &&
                  each.compared <= each.rows && each.rows <= 10000 &&
                  (each.measures ? each.factor == factor_ && !measures() : each.factor > factor_),
              "race");
      contenders_.push_back(std::move(each));
    }
  }

  bool widths_;
  bool begun_ = false;
  double factor_ = 1.0;
  Random random_{0};
  std::vector<Contender<Real>> contenders_;
};

}  // namespace budgetron
