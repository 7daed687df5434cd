// AVM, the approximation vector machine (Le et al. 2017, algorithms 2 to 5): Pegasos on core
// points.
//
// Cells cover the data space as the rows come; a row changes the coef of its cell's core point
// instead of being stored itself. In round t, with slope g_t of the loss at f_t(x_t) and t from 1:
//
//   f <- (t-1)/t f - 1/(lambda t) g_t u k(c, .)
//
// stored as f = 1/(lambda t) sum_i c_i k(x_i, .), so that a round changes only t and one c_i. c is
// the core point of x_t with probability max(0, 1 - beta/t^rho) (section 6.2.3; beta = 0: always),
// otherwise x_t itself, which becomes a core point.
//
//   sphere     the nearest core point, if ||x - c|| < delta/2; else x opens a cell (algorithm 3)
//   rectangle  the first with ||x - c||_inf < delta/sqrt(d); else x opens a cell (algorithm 4)
//
// When units change (hypothesis/unit_change.hpp), delta may be set again, to so many median
// distances between core points. Then, starting with the oldest, each core point that is in the
// cell of one that stays leaves, and its coefs are added to that one, by the rule of the cells
// above.
//
// A cell opens even if the slope is 0. There are at most `budget` core points; after that the
// nearest one is used. With three classes or more u is e_y - e_z (algorithm 5), twice the direction
// of other learners.
//
// The squared loss has slopes without bound: if lambda <= 1, f is scaled back to the ball of radius
// y_max lambda^(-1/2), y_max the largest |target| so far (sqrt(w) |target| of a weighted row), in
// which the optimum lies (line 12 of algorithm 2, theorem 23). The norm follows from f at the core
// point that moves: ||f + a k(c, .)||^2 = ||f||^2 + 2 a f(c) + a^2 k(c, c).
//
// Contract: an isotropic kernel. Core points are in the order of the stream. Cost: after the kernel
// row O(B) (distances come with the Gaussian row; the Laplacian needs a second one). Setting delta
// again costs O(B) rows. Rectangle: O(B) for each feature of x while core points remain candidates.
// The ball needs one more kernel row in rounds whose row is not its core point.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "hypothesis/loss.hpp"
#include "learners/learner.hpp"

namespace budgetron {

template <class Real>
class Avm final : public ExpansionLearner<Real> {
 public:
  Avm(const Spec& spec, std::size_t outputs)
      : ExpansionLearner<Real>(make_kernel(spec.part("kernel")), outputs, spec.count("budget")),
        loss_(spec.part("loss")),
        budget_(spec.count("budget")),
        regularization_(spec.number("regularization")),
        cover_(cover_called(spec.text("cover"))),
        width_(spec.number("width")),
        beta_(spec.number("beta")),
        rho_(spec.number("rho")),
        ball_(loss_.squared() && regularization_ <= 1.0),
        zeros_(outputs, 0.0) {
    set_delta(spec.number("delta"));
    if (!f_.kernel().isotropic()) throw std::invalid_argument("avm: the kernel is not isotropic");
    f_.keep_distances();
    if (ball_) f_.keep_norm();
  }

  bool learn(const Turn<Real>& turn) override {
    const double t = static_cast<double>(++rounds_);
    united_.clear();
    const double slope = loss_.slope(turn.margin);
    const bool approximate =
        beta_ == 0.0 ||
        turn.random->uniform() < std::max(0.0, 1.0 - beta_ / std::pow(t, rho_));  // Z_t
    const std::int64_t capped = capped_;
    std::size_t i = stand_in(turn, approximate);
    const double rate = 1.0 / (regularization_ * t);
    f_.set_rate(rate);
    const double length = f_.outputs() > 2 ? 2.0 : 1.0;
    if (capped_ > capped && slope != 0.0) {
      const double move = std::abs(slope) * length * rate;
      f_.report({EventKind::merge, turn.round, f_.id(i),
                 move * std::sqrt(f_.inner(turn.direction, turn.direction))});
    }
    largest_target_ = std::max(largest_target_, std::sqrt(turn.weight) * std::abs(turn.target));
    const bool opens = i == kNewCore;
    if (opens) {
      i = f_.size();
      f_.add(turn, zeros_);
    }
    if (ball_) follow_norm(turn, i, opens, -rate * slope * turn.direction[0]);
    const double unit = rate / f_.factor();  // exactly 1 if no ball has scaled f
    for (std::size_t k = 0; k < f_.outputs(); ++k) {
      f_.stored_coefs(k)[i] -= unit * slope * length * turn.direction[k];
    }
    if (ball_) stay_in_ball();
    return true;
  }

  void scale_targets(double factor) override {
    f_.multiply(factor);
    largest_target_ *= factor;
  }

  void rearrange(const ClassChange& change) override {
    f_.rearrange(change);
    zeros_.resize(f_.outputs(), 0.0);
  }

  void reserve(const ByteLimit& limit) override {
    f_.reserve(limit);
    if (cover_ == Cover::rectangle) {
      inside_.reserve(budget_);
      f_.reserve_sample(core_point_);
      if (limit.changes) f_.reserve_sample(other_point_);
    }
    if (ball_ || limit.changes) f_.reserve_row(core_row_);
    if (limit.changes) united_.reserve(budget_);
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this));
    visitor.part("expansion", f_);
    visitor.field("rounds", rounds_);
    visitor.field("stand_ins", stand_ins_);
    visitor.field("capped", capped_);
    visitor.field("entered", entered_);
    visitor.field("largest_target", largest_target_);
    visitor.field("projections", projections_);
    if (visitor.loading()) require(largest_target_ >= 0.0, "largest target");
    zeros_.resize(f_.outputs(), 0.0);
    visitor.scratch(zeros_);
    visitor.scratch(inside_);
    visitor.scratch(united_);
    for (const OwnedSample<Real>* point : {&core_point_, &other_point_}) {
      visitor.scratch(point->values);
      visitor.scratch(point->indices);
    }
    visitor.part("core_row", core_row_);
  }

 protected:
  double resize_cells(const UnitChange& change, double squared) override {
    if (change.delta_factor == 0.0) return delta_;
    if (squared > 0.0) set_delta(change.delta_factor * std::sqrt(squared));
    // Core points in one cell become one.
    united_.resize(f_.size());
    for (std::uint32_t i = 0; i < united_.size(); ++i) united_[i] = cell_of_older(i);
    this->unite();
    return delta_;
  }
  // The oldest leave; the others keep the order of the stream.
  void lower_to(std::size_t size, Row<Real>&, Random&) override {
    if (f_.size() <= size) return;
    const auto leave = static_cast<std::uint32_t>(f_.size() - size);
    united_.resize(f_.size());
    for (std::uint32_t i = 0; i < united_.size(); ++i) united_[i] = std::max(i, leave);
    f_.keep(united_);
    united_.clear();
    if (ball_) f_.refresh_norm();
  }

 private:
  using ExpansionLearner<Real>::f_;
  using ExpansionLearner<Real>::united_;
  enum class Cover { sphere, rectangle };
  static constexpr std::size_t kNewCore = std::numeric_limits<std::size_t>::max();

  static Cover cover_called(const std::string& name) {
    if (name == "sphere") return Cover::sphere;
    if (name == "rectangle") return Cover::rectangle;
    throw std::invalid_argument("no cover is called '" + name + "'");
  }

  // ---- cells ----------------------------------------------------------------------------------

  void set_delta(double delta) {
    delta_ = delta;
    radius_ = delta / 2.0;
    side_ = delta / std::sqrt(width_);
  }

  // The older core point that stays and whose cell i is in; i if there is none.
  std::uint32_t cell_of_older(std::uint32_t i) {
    std::uint32_t best = i;
    if (cover_ == Cover::rectangle) {
      f_.support().extract(i, other_point_);
      for (std::uint32_t j = 0; j < i && best == i; ++j) {
        if (united_[j] != j) continue;
        f_.support().extract(j, core_point_);
        if (within(other_point_.view(), core_point_.view())) best = j;
      }
      return best;
    }
    f_.row_of_stored(i, core_row_);
    double least = radius_ * radius_;
    for (std::uint32_t j = 0; j < i; ++j) {
      const double distance = static_cast<double>(core_row_.distances[j]);
      if (united_[j] != j || !(distance < least)) continue;
      best = j;
      least = distance;
    }
    return best;
  }

  // The core point used for x; kNewCore if x becomes one.
  std::size_t stand_in(const Turn<Real>& turn, bool approximate) {
    if (f_.size() == 0) return kNewCore;
    entered_ += !approximate;
    const std::size_t i = approximate ? cell(turn) : kNewCore;
    if (i != kNewCore) {
      ++stand_ins_;
      return i;
    }
    if (f_.has_room(turn.x)) return kNewCore;
    ++capped_;
    return nearest(*turn.row);
  }

  // The core point whose cell x is in.
  std::size_t cell(const Turn<Real>& turn) {
    if (cover_ == Cover::rectangle) return first_within(turn);
    const std::size_t i = nearest(*turn.row);
    return static_cast<double>(turn.row->distances[i]) < radius_ * radius_ ? i : kNewCore;
  }

  // The nearest core point; the first, which is the oldest, if several are equal.
  std::size_t nearest(const Row<Real>& row) const {
    return row_functions<Real>().first_least(row.distances.data(), f_.size());
  }

  // Drops the core points that are too far from x, one feature of x after the other; soon few are
  // left. Only these are compared in the features that x lacks.
  std::size_t first_within(const Turn<Real>& turn) {
    const ExampleStore<Real>& support = f_.support();
    inside_.resize(f_.size());
    std::iota(inside_.begin(), inside_.end(), std::uint32_t{0});
    for (std::size_t k = 0; k < turn.x.count && !inside_.empty(); ++k) {
      const double value = static_cast<double>(turn.x.values[k]);
      const auto stored = support.stored(turn.x.feature(k));
      if (value == 0.0 || !stored.anywhere) continue;
      std::erase_if(inside_, [&](std::uint32_t i) {
        return std::abs(value - static_cast<double>(support.value(stored, i))) >= side_;
      });
    }
    for (const std::uint32_t i : inside_) {
      support.extract(i, core_point_);
      if (within(turn.x, core_point_.view())) return i;
    }
    return kNewCore;
  }

  // ||a - b||_inf < side
  [[nodiscard]] bool within(const Sample<Real>& a, const Sample<Real>& b) const {
    constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.count || j < b.count) {
      const std::int64_t p = i < a.count ? a.feature(i) : kEnd;
      const std::int64_t q = j < b.count ? b.feature(j) : kEnd;
      const double u = p <= q ? static_cast<double>(a.values[i++]) : 0.0;
      const double v = q <= p ? static_cast<double>(b.values[j++]) : 0.0;
      if (std::abs(u - v) >= side_) return false;
    }
    return true;
  }

  // ---- the ball -------------------------------------------------------------------------------

  // The norm of f after the coef of core point i moves by a. One output.
  void follow_norm(const Turn<Real>& turn, std::size_t i, bool opens, double a) {
    double f = 0.0;  // at the core point
    if (!opens) f_.row_of_stored(i, core_row_);
    f_.decide(opens ? *turn.row : core_row_, {&f, 1});
    const double norm = f_.squared_norm() + 2.0 * a * f + a * a * f_.stored_self(i);
    f_.set_squared_norm(std::max(0.0, norm));
  }

  void stay_in_ball() {
    const double norm = std::sqrt(f_.squared_norm());
    const double most = largest_target_ / std::sqrt(regularization_);
    if (!(norm > most)) return;
    f_.scale(most / norm);
    ++projections_;
  }

  Loss loss_;
  std::size_t budget_;  // 0: no limit
  double regularization_;
  Cover cover_;
  double width_;
  double delta_;   // diameter of a cell
  double radius_;  // of a sphere
  double side_;    // half the side of a rectangle
  double beta_;
  double rho_;
  bool ball_;                     // f is kept within y_max lambda^(-1/2)
  double largest_target_ = 0.0;   // y_max
  std::int64_t projections_ = 0;  // rounds in which the ball scaled f back
  std::int64_t rounds_ = 0;       // t - 1
  std::int64_t stand_ins_ = 0;    // rounds whose row was in a cell and was approximated
  std::int64_t capped_ = 0;   // rounds that used the nearest core point because the budget was full
  std::int64_t entered_ = 0;  // rounds whose row was drawn to become a core point
  std::vector<double> zeros_;
  std::vector<std::uint32_t> inside_;
  OwnedSample<Real> core_point_;
  OwnedSample<Real> other_point_;
  Row<Real> core_row_;  // kernel row of the core point that changes
};

}  // namespace budgetron
