// A race of kernel widths: while the model learns with the gamma that the median rule finds,
// learners with 4 and 16 times that gamma, and half of its budget each, learn beside it from the
// same rows. One that is clearly better takes its place (docs/develop/decisions/0053).
//
//   d_t    what the model loses in round t less what the contender does, times the row's weight:
//          mistakes, in regression |error|. Both answer before they learn.
//   z      sum d_t / sqrt(sum d_t^2)      about N(0, 1) if both are equally good
//
// Every kCheck rows from row kFirst on:
//
//   z > 4                        the contender, of several the one that is most ahead, becomes the
//                                model's learner, with the whole budget. Contenders with a smaller
//                                gamma leave. All others are compared anew, with the new learner.
//   z < -2                       it leaves
//   z < 1.5 after kPatience rows it leaves, where nobody has won
//   after kLast rows             all leave
//
// The model's learner has its whole budget all the time and knows nothing of the race: where nobody
// wins, nothing is lost but the time. The contenders' memory is freed when they leave.
//
// Rows of later epochs, which the learners have learned before, would not show who is better: the
// first of them ends the race.
//
// Cost: a contender's round is that of a learner with half of the budget, in the rows that it
// stays.
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

namespace budgetron {

// A learner that answers and learns beside the model's own.
template <class Real>
struct Contender {
  double factor = 1.0;  // times the gamma of the median rule
  double gamma = 1.0;   // that it has now
  std::unique_ptr<Learner<Real>> learner;
  double ahead = 0.0;    // sum of d
  double squares = 0.0;  // and of its squares
  Row<Real> row;
  std::vector<double> outputs;
  std::vector<double> direction;

  [[nodiscard]] double z() const { return squares > 0.0 ? ahead / std::sqrt(squares) : 0.0; }
};

template <class Real>
class Race {
 public:
  static constexpr double kFactors[] = {4.0, 16.0};
  static constexpr double kBudget = 0.5;  // a contender's share of the budget

  // Not yet begun: gamma is still to be found.
  [[nodiscard]] bool waiting() const { return !begun_; }
  [[nodiscard]] bool running() const { return !contenders_.empty(); }
  // The multiple of the median rule's gamma that has won so far.
  [[nodiscard]] double factor() const { return factor_; }
  [[nodiscard]] std::vector<Contender<Real>>& contenders() { return contenders_; }

  void begin() { begun_ = true; }
  void add(double factor, double gamma, std::unique_ptr<Learner<Real>> learner) {
    contenders_.push_back({factor, gamma, std::move(learner), 0.0, 0.0, {}, {}, {}});
  }
  void end() { std::vector<Contender<Real>>().swap(contenders_); }
  Random& random() { return random_; }

  // A contender's d of this round.
  static void count(Contender<Real>& contender, double difference) {
    contender.ahead += difference;
    contender.squares += difference * difference;
  }
  // Targets are counted in another unit.
  void scale_targets(double factor) {
    for (Contender<Real>& contender : contenders_) {
      contender.learner->scale_targets(factor);
      contender.ahead *= factor;
      contender.squares *= factor * factor;
    }
  }

  // Ends a round. Calls `win(contender)` for the one that takes the model's place, which then
  // leaves.
  template <class Win>
  void check(Win win) {
    ++rows_;
    if (rows_ < kFirst || rows_ % kCheck != 0) return;
    std::size_t best = contenders_.size();
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (!(contenders_[i].z() > kWin)) continue;
      if (best == contenders_.size() || contenders_[i].ahead > contenders_[best].ahead) best = i;
    }
    if (best < contenders_.size()) {
      win(contenders_[best]);
      factor_ = contenders_[best].factor;
      won_ = rows_;
      std::erase_if(contenders_, [this](const auto& each) { return !(each.factor > factor_); });
      for (Contender<Real>& each : contenders_) each.ahead = each.squares = 0.0;
    } else {
      std::erase_if(contenders_, [this](const auto& each) {
        return each.z() < kLose || (rows_ >= won_ + kPatience && each.z() < kHope);
      });
    }
    if (rows_ >= kLast || contenders_.empty()) end();
  }

  void change_units(const UnitChange& change) {
    for (Contender<Real>& each : contenders_) {
      each.gamma = each.learner->change_units(change, each.factor).gamma;
    }
  }
  void rearrange(const ClassChange& change) {
    for (Contender<Real>& each : contenders_) each.learner->rearrange(change);
  }
  void check_invariants() const {
    for (const Contender<Real>& each : contenders_) each.learner->check_invariants();
  }

  // `make(gamma)`: a learner to load a contender into.
  template <class Make>
  void visit_state(StateVisitor& visitor, Make make) {
    visitor.part_if(begun_, "race", *this);
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      Contender<Real>& each = contenders_[i];
      if (visitor.loading()) each.learner = make(each.gamma);
      const std::string name = "contender" + std::to_string(i);
      visitor.part(name, *each.learner);
      visitor.part(name + "_row", each.row);
      visitor.scratch(each.outputs);
      visitor.scratch(each.direction);
    }
  }
  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this) + contenders_.capacity() * sizeof(Contender<Real>));
    std::vector<double> numbers;
    for (const Contender<Real>& each : contenders_) {
      numbers.insert(numbers.end(), {each.factor, each.gamma, each.ahead, each.squares});
    }
    visitor.field("factor", factor_);
    visitor.field("rows", rows_);
    visitor.field("won", won_);
    if (visitor.mode() != StateVisitor::Mode::count) visitor.field("contenders", numbers);
    visitor.part("random", random_);
    if (!visitor.loading()) return;
    begun_ = true;
    const auto possible = [](double factor) {
      return std::find(std::begin(kFactors), std::end(kFactors), factor) != std::end(kFactors);
    };
    require((factor_ == 1.0 || possible(factor_)) && won_ <= rows_ && numbers.size() % 4 == 0 &&
                all_finite(numbers),
            "race");
    end();
    double before = factor_;
    for (std::size_t i = 0; i < numbers.size(); i += 4) {
      require(possible(numbers[i]) && numbers[i] > before && numbers[i + 1] > 0.0 &&
                  numbers[i + 3] >= 0.0,
              "race");
      before = numbers[i];
      contenders_.push_back(
          {before, numbers[i + 1], nullptr, numbers[i + 2], numbers[i + 3], {}, {}, {}});
    }
  }

 private:
  static constexpr std::int64_t kFirst = 300;  // rows
  static constexpr std::int64_t kCheck = 100;
  static constexpr std::int64_t kPatience = 2000;
  static constexpr std::int64_t kLast = 10000;
  static constexpr double kWin = 4.0;
  static constexpr double kLose = -2.0;
  static constexpr double kHope = 1.5;

  bool begun_ = false;
  double factor_ = 1.0;
  std::int64_t rows_ = 0;
  std::int64_t won_ = 0;  // the row of the last win, or 0
  Random random_{0};
  std::vector<Contender<Real>> contenders_;
};

}  // namespace budgetron
