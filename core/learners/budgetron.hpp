// Budgetron: a confidence-weighted kernel machine on a budget. A Gaussian belief over the coefs of
// at most B stored examples: mean a, covariance P, which starts as the inverse Gram matrix.
//
//   k = (k(x_i, x))_i ;  f = a.k ;  l = 1 - y f ;  l <= 0: nothing
//   y f <= 0, |S| < B and x is new, admit x:  d = Kinv k ;  delta2 = k(x, x) + jitter - k.d
//     Kinv, P <- [[. + d d'/delta2, -d/delta2], [-d'/delta2, 1/delta2]] ;  a <- (a, 0)
//   v = P k ;  b = 1/(k.v + r) ;  a += l b y v ;  P -= b v v'
//
// The last line is AROW (Crammer, Kulesza & Dredze 2009) on the coefs. More classes: y is the
// direction u = (e_y - e_z)/2 as everywhere, and P, shared by the K outputs, loses b v v'/(K - 1):
// a round sees one of the K - 1 directions in which outputs differ (docs/develop/decisions/0015).
// With K = 2 that is the above.
//
// x is new if k(x, x) - k.d, the part that stored examples do not span, is above the jitter (and
// above rounding, kInSpan). A copy of a stored example is not new: without this rule a stuck sensor
// would fill the budget with copies of one row.
//
// A row of weight w > 1 wants the margin w: l = w - y f. So f is w times what it would be, the
// border of the classes moves, and the order of the rows by f stays about what it is without
// weights (docs/develop/decisions/0045). A row of weight w < 1, and in regression of any weight, is
// a sight of w times the precision: r/w for r. A weight that goes to 0 changes less and less.
//
// Replacing, when full: `never`; `always`, on every mistake; `auto`, on mistakes of the 500 rounds
// after a drift. The belief is conditioned on a_i = 0 for the i with the least a_i^2/P_ii,
//   a -= P_i a_i/P_ii ;  P -= P_i P_i'/P_ii ;  Kinv -= Kinv_i Kinv_i'/Kinv_ii
// i leaves, f and l are computed anew, x is admitted. A drift is a mistake rate of the last rounds
// above that of many (`Drift`); it also sets P <- Kinv: what was certain no longer is.
//
// Regression (admission "error"): l y is the error e, every round updates, and x is admitted if |e|
// is above the mean |e| of the rounds before. Nothing is replaced.
//
// P and Kinv are held as in covariance.hpp, and so stay positive definite; their order is that of
// the examples' ages. Kinv is freed when it will not be needed: full, and never replacing.
//
// Invariants: Kinv = (K + jitter I)^-1 unless delta2 had to be raised (`raised`), P positive
// definite. check_invariants() recomputes the Gram matrix.
// Cost: O(B d) per round; rounds that update O(B^2), three passes over P's memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "hypothesis/covariance.hpp"
#include "hypothesis/gram_factor.hpp"
#include "learners/drift.hpp"
#include "learners/learner.hpp"

namespace budgetron {

template <class Real>
class Budgetron final : public ExpansionLearner<Real> {
 public:
  Budgetron(const Spec& spec, std::size_t outputs)
      : ExpansionLearner<Real>(make_kernel(spec.part("kernel")), outputs, spec.count("budget")),
        budget_(spec.count("budget")),
        r_(spec.number("r")),
        jitter_(spec.number("jitter")),
        replace_(replace_called(spec.text("replace"))),
        admission_(admission_called(spec.text("admission"))),
        belief_(budget_),
        prior_(budget_),
        drift_(outputs),
        zeros_(outputs, 0.0),
        moves_(outputs, 0.0) {}

  bool learn(const Turn<Real>& turn) override {
    const bool regresses = admission_ == Admission::error;
    double loss = regresses ? -turn.margin : wanted(turn) - turn.margin;
    if (!regresses) watch(turn);
    if (!regresses && loss <= 0.0) return false;
    gather(*turn.row);
    if (wants(turn.margin)) {
      const bool room = f_.has_room(turn.x);
      if ((!room && !replacing()) || !novel(turn.self)) {
        // Nothing is stored.
      } else if (room) {
        admit(turn, f_.size());
      } else {
        const std::size_t index = make_place(turn);
        f_.decide(*turn.row, moves_);
        loss = std::max(0.0, wanted(turn) - f_.inner(turn.direction, moves_) / turn.weight);
        gather(*turn.row);
        measure();
        admit(turn, index);
        ++replacements_;
      }
    }
    if (f_.size() == 0) return false;
    update(turn, loss);
    return true;
  }

  [[nodiscard]] std::span<const std::int64_t> drifts() const override { return drift_.log(); }

  // P stays: it does not depend on targets, so that it is what it would be had they always been
  // counted in the new unit.
  void scale_targets(double factor) override {
    f_.multiply(factor);
    mean_error_ *= factor;
  }

  void rearrange(const ClassChange& change) override {
    f_.rearrange(change);
    drift_.rearrange(change);
    zeros_.resize(f_.outputs(), 0.0);
    moves_.resize(f_.outputs(), 0.0);
  }

  void reserve(const ByteLimit& limit) override {
    f_.reserve(limit);
    belief_.reserve();
    prior_.reserve();
    reserve();
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this));
    visitor.part("expansion", f_);
    belief_.visit_state(visitor, "belief");
    prior_.visit_state(visitor, "prior");
    visitor.part("drift", drift_);
    visitor.field("mean_error", mean_error_);
    visitor.field("errors", errors_);
    visitor.field("admissions", admissions_);
    visitor.field("replacements", replacements_);
    visitor.field("raised", raised_);
    if (visitor.loading()) {
      require(belief_.size() == f_.size() && prior_.size() == (keeps_prior() ? f_.size() : 0),
              "belief");
      order_.resize(f_.size());
      std::iota(order_.begin(), order_.end(), std::uint32_t{0});
      std::sort(order_.begin(), order_.end(),
                [this](std::uint32_t i, std::uint32_t j) { return f_.id(i) < f_.id(j); });
      zeros_.assign(f_.outputs(), 0.0);
      moves_.assign(f_.outputs(), 0.0);
      reserve();
    }
    visitor.scratch(order_);
    visitor.scratch(kernel_);
    visitor.scratch(gain_);
    visitor.scratch(weights_);
    visitor.scratch(zeros_);
    visitor.scratch(moves_);
  }

  void check_invariants() const override {
    f_.check_invariants();
    belief_.check_invariants();
    prior_.check_invariants();
    if (prior_.size() > 0 && raised_ == 0) check_prior();
  }

  void lower(std::size_t budget, std::size_t slots, Row<Real>& row, Random& random) override {
    reserve();
    ExpansionLearner<Real>::lower(budget, slots, row, random);
    budget_ = std::min(budget_, budget);
    if (!keeps_prior()) {
      prior_.free();
    } else if (prior_.size() != f_.size()) {
      find_prior();
    }
  }

 protected:
  // a and P stay; Kinv is that of the examples as they are now.
  void follow_units(const UnitChange&) override {
    if (!keeps_prior()) return;
    reserve();
    find_prior();
  }
  void lower_to(std::size_t size, Row<Real>& row, Random&) override {
    while (f_.size() > size) leave(drop(), row);
  }

 private:
  using ExpansionLearner<Real>::f_;
  enum class Replace { automatic, never, always };
  enum class Admission { mistake, margin, error };
  static constexpr double kErrors = 1000.0;  // rounds the mean error looks back

  static Replace replace_called(const std::string& name) {
    if (name == "auto") return Replace::automatic;
    if (name == "never") return Replace::never;
    if (name == "always") return Replace::always;
    throw std::invalid_argument("nothing is replaced '" + name + "'");
  }
  static Admission admission_called(const std::string& name) {
    if (name == "mistake") return Admission::mistake;
    if (name == "margin") return Admission::margin;
    if (name == "error") return Admission::error;
    throw std::invalid_argument("no admission is called '" + name + "'");
  }

  [[nodiscard]] bool keeps_prior() const {
    return replace_ != Replace::never || f_.size() < budget_;
  }
  [[nodiscard]] bool replacing() const {
    return replace_ == Replace::always || (replace_ == Replace::automatic && drift_.open());
  }

  void watch(const Turn<Real>& turn) {
    if (replace_ != Replace::automatic || !drift_.counts(class_of(turn))) return;
    if (!drift_.count(turn.margin <= 0.0, turn.round)) return;
    belief_.copy(prior_);
    f_.report({EventKind::drift});
  }

  // The class of the row: towards it goes the direction.
  [[nodiscard]] static std::size_t class_of(const Turn<Real>& turn) {
    if (turn.direction.size() == 1) return turn.direction[0] > 0.0 ? 1 : 0;
    std::size_t code = 0;
    while (!(turn.direction[code] > 0.0)) ++code;
    return code;
  }

  // The margin that a row wants.
  [[nodiscard]] static double wanted(const Turn<Real>& turn) { return std::max(1.0, turn.weight); }

  // Whether x is to be stored; counts the error.
  bool wants(double margin) {
    if (admission_ == Admission::mistake) return margin <= 0.0;
    if (admission_ == Admission::margin) return true;
    const bool above = -margin > mean_error_;
    mean_error_ += (-margin - mean_error_) / std::min(static_cast<double>(++errors_), kErrors);
    return above;
  }

  // ---- the belief -----------------------------------------------------------------------------

  // The kernel row in the order of the belief.
  void gather(const Row<Real>& row) {
    reserve();
    kernel_.assign(belief_.length(), 0.0);
    for (std::size_t p = 0; p < order_.size(); ++p) {
      kernel_[p] = static_cast<double>(row.values[order_[p]]);
    }
  }

  // Whether x, which is gathered, is new; leaves it measured.
  bool novel(double self) {
    measure();
    return self - reach_ > least(self);
  }

  // At least jitter, and what rounding leaves, which kInSpan bounds.
  [[nodiscard]] double least(double self) const { return std::max(jitter_, kInSpan<Real> * self); }

  // d = Kinv k, into gain_, and k.d, of the x whose kernel row is gathered.
  void measure() {
    gain_.assign(prior_.length(), 0.0);
    reach_ = prior_.project(kernel_.data());
    prior_.product(gain_.data());
  }

  // x, gathered and measured, becomes the example of this index.
  void admit(const Turn<Real>& turn, std::size_t index) {
    const std::size_t n = order_.size();
    const double delta2 = append_prior(turn.self);
    belief_.append(gain_.data(), delta2);
    if (index == f_.size()) {
      f_.add(turn, zeros_);
    } else {
      f_.replace(index, turn, zeros_, EventKind::none);
    }
    order_.push_back(static_cast<std::uint32_t>(index));
    kernel_.resize(belief_.length(), 0.0);
    kernel_[n] = turn.self;
    ++admissions_;
    if (!keeps_prior()) prior_.free();
  }

  // Drops examples until x has room; returns the index it is to have.
  std::size_t make_place(const Turn<Real>& turn) {
    while (true) {
      const std::size_t index = drop();
      if (f_.fits_instead(index, turn.x)) return index;
      leave(index, *turn.row);
      if (f_.has_room(turn.x)) return f_.size();
    }
  }

  // The dropped example leaves the expansion too; the last one takes its index.
  void leave(std::size_t index, Row<Real>& row) {
    f_.remove(index, row, EventKind::none);
    for (std::uint32_t& other : order_) {
      if (other == f_.size()) other = static_cast<std::uint32_t>(index);
    }
  }

  // Kinv of what is stored, where it had been freed: example after example, as they were admitted.
  void find_prior() {
    prior_.free();
    Row<Real>& row = f_.side_row();
    for (std::size_t p = 0; p < order_.size(); ++p) {
      f_.row_of_stored(order_[p], row);
      kernel_.assign(prior_.length(), 0.0);
      for (std::size_t q = 0; q < p; ++q) {
        kernel_[q] = static_cast<double>(row.values[order_[q]]);
      }
      measure();
      append_prior(row.self);
    }
  }

  // Kinv with x, which is measured; returns delta2.
  double append_prior(double self) {
    double delta2 = self + jitter_ - reach_;
    if (!(delta2 >= least(self))) {
      ++raised_;
      delta2 = least(self);
    }
    prior_.append(gain_.data(), delta2);
    return delta2;
  }

  // Conditions on a_i = 0 for the least certain to be another; returns the index that is free now.
  std::size_t drop() {
    gain_.assign(belief_.length(), 0.0);
    belief_.diagonal(gain_.data());
    std::size_t i = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const double score = squared_coef(order_[p]) / gain_[p];
      if (score < least) {
        least = score;
        i = p;
      }
    }
    const std::size_t index = order_[i];
    const double variance = gain_[i];
    f_.report(EventKind::evict, index);
    belief_.column(i, gain_.data());
    for (std::size_t k = 0; k < f_.outputs(); ++k) {
      double* a = f_.stored_coefs(k);
      const double share = a[index] / variance;
      for (std::size_t p = 0; p < order_.size(); ++p) a[order_[p]] -= share * gain_[p];
      a[index] = 0.0;
    }
    belief_.remove(i);
    if (prior_.size() > 0) prior_.remove(i);
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(i));
    return index;
  }

  [[nodiscard]] double squared_coef(std::size_t index) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < f_.outputs(); ++k) {
      sum += f_.stored_coefs(k)[index] * f_.stored_coefs(k)[index];
    }
    return f_.outputs() == 1 ? sum : 2.0 * sum;
  }

  void update(const Turn<Real>& turn, double loss) {
    const double most = admission_ == Admission::error ? turn.weight : std::min(1.0, turn.weight);
    const double r = r_ / most;
    const double spread = belief_.project(kernel_.data(), r);  // k.v
    if (!std::isfinite(spread)) return;
    // P -= c b v v' with c = 1/(K - 1) is what a sight of this variance leaves; r itself for c = 1.
    const double others = f_.outputs() > 2 ? static_cast<double>(f_.outputs() - 1) : 1.0;
    const double noise = r * others + spread * (others - 1.0);
    gain_.resize(belief_.length());
    belief_.condition(noise, gain_.data());
    for (std::size_t p = 0; p < order_.size(); ++p) weights_[order_[p]] = gain_[p];
    const double step = loss / (spread + r) / turn.weight;  // the direction has the weight in it
    for (std::size_t k = 0; k < moves_.size(); ++k) moves_[k] = step * turn.direction[k];
    f_.shift(weights_, {}, moves_);
  }

  void reserve() {
    if (weights_.size() > f_.size() || weights_.size() == budget_) return;
    const std::size_t places = next_capacity(std::max(weights_.size(), f_.size()), budget_);
    const std::size_t most = (places + kPanel - 1) / kPanel * kPanel;
    kernel_.reserve(most);
    gain_.reserve(most);
    order_.reserve(places);
    weights_.resize(places, 0.0);
  }

  // Kinv (K + jitter I) = I up to the rounding of kernel values times the size of Kinv.
  void check_prior() const {
    const std::size_t n = f_.size();
    Covariance prior = prior_;
    std::vector<std::vector<double>> inverse(n);
    double largest = 1.0;
    for (std::size_t p = 0; p < n; ++p) {
      AlignedVector<double> column(prior.length(), 0.0);
      prior.column(p, column.data());
      inverse[p].assign(column.begin(), column.end());
      for (const double value : column) largest = std::max(largest, std::abs(value));
    }
    Row<Real> row;
    for (std::size_t q = 0; q < n; ++q) {
      f_.row_of_stored(order_[q], row);
      double size = 1.0;
      for (std::size_t p = 0; p < n; ++p) {
        size = std::max(size, std::abs(static_cast<double>(row.values[order_[p]])));
      }
      for (std::size_t i = 0; i < n; ++i) {
        double sum = jitter_ * inverse[i][q];
        for (std::size_t p = 0; p < n; ++p) {
          sum += inverse[i][p] * static_cast<double>(row.values[order_[p]]);
        }
        const double rounding = static_cast<double>(std::numeric_limits<Real>::epsilon());
        const double most = 64.0 * static_cast<double>(n) * rounding * largest * size;
        if (!(std::abs(sum - (i == q ? 1.0 : 0.0)) <= most)) {
          throw std::logic_error(
              "budgetron invariant broken: Kinv is not the Gram matrix's inverse");
        }
      }
    }
  }

  std::size_t budget_;
  double r_;
  double jitter_;
  Replace replace_;
  Admission admission_;
  Covariance belief_;                 // P
  Covariance prior_;                  // Kinv
  std::vector<std::uint32_t> order_;  // indices of the stored examples, the oldest first
  Drift drift_;
  double mean_error_ = 0.0;  // of regression
  std::int64_t errors_ = 0;  // rounds it has seen
  std::int64_t admissions_ = 0;
  std::int64_t replacements_ = 0;
  std::int64_t raised_ = 0;       // admissions whose delta2 was below what rounding leaves
  AlignedVector<double> kernel_;  // k, in the order of the belief
  AlignedVector<double> gain_;    // v, d or P_i, likewise
  double reach_ = 0.0;            // k.d
  std::vector<double> weights_;   // v in the order of the stored examples
  std::vector<double> zeros_;
  std::vector<double> moves_;
};

}  // namespace budgetron
