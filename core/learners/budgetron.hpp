// Budgetron: a confidence-weighted kernel machine on a budget. It keeps a Gaussian belief over the
// coefs of at most B stored examples: mean a, covariance P, which starts as the inverse Gram
// matrix.
//
//   k = (k(x_i, x))_i ;  f = a.k ;  l = 1 - y f.  If l <= 0 nothing happens.
//   If y f <= 0, |S| < B and x is new, admit x:  d = Kinv k ;  delta2 = k(x, x) + jitter - k.d
//     Kinv, P <- [[. + d d'/delta2, -d/delta2], [-d'/delta2, 1/delta2]] ;  a <- (a, 0)
//   v = P k ;  b = 1/(k.v + r) ;  a += l b y v ;  P -= b v v'
//
// The last line is AROW (Crammer, Kulesza & Dredze 2009) on the coefs. With more classes y is the
// direction u = (e_y - e_z)/2 as everywhere, and P, shared by the K outputs, loses b v v'/(K - 1):
// a round observes one of the K - 1 directions in which outputs differ
// (docs/develop/decisions/0015). With K = 2 this is the formula above.
//
// x is new if k(x, x) - k.d, the part that stored examples do not span, is above the jitter (and
// above rounding, kInSpan). A copy of a stored example is not new: without this rule a sensor that
// is stuck would fill the budget with copies of one row.
//
// A row of weight w > 1 requires the margin w: l = w - y f. So f is w times as large, the class
// border moves, and the order of the rows by f stays about the same as without weights
// (docs/develop/decisions/0045). A row of weight w < 1, and in regression of any weight, is an
// observation with w times the precision: r/w for r. As a weight goes to 0 its row changes less and
// less.
//
// Replacing, when full: `never`; `always`, on every mistake; `auto`, on mistakes in the 500 rounds
// after a drift; `recent`, by every row with loss, which is stored in place of the oldest example
// as below with the reflex (docs/develop/decisions/0075). The belief is conditioned on a_i = 0 for
// the i with the least a_i^2/P_ii,
//   a -= P_i a_i/P_ii ;  P -= P_i P_i'/P_ii ;  Kinv -= Kinv_i Kinv_i'/Kinv_ii
// i leaves, f and l are recomputed, x is admitted. A drift is called when the mistake rate of the
// last rounds is above that of many rounds (`Drift`); it also sets P <- Kinv: what was certain no
// longer is.
//
// Regression (admission "error"): l y is the error e, every round updates, and x is admitted if |e|
// is above the mean |e| of the last 1000 rounds. In this mean an error counts as at most ten means:
// otherwise one absurd value would keep all others out. A drift is a rise of min(1, |e|/(4 mean
// |e|)); it also restarts the mean. In the 500 rounds after it `auto` replaces as above. If there
// is a floor (below), the variance of c grows by r/200^2 in every round, so that c follows the
// level of the targets over about 200 rows (docs/develop/decisions/0058).
//
// The straight part (straight_part.hpp):  f = w.x + c + a.k,  one belief over (c, w, a), which
// starts as diag(tau I, Kinv), with tau/10 for c. Everything above holds with z = (1, x, k) in
// place of k and (0, d) in place of d; a drift sets P to diag(tau I, Kinv) again. Its form is
//   full      P covers all of it; (c, w) come first, so that the rest of P is that of a alone
//   diagonal  P covers a; c and every w_j have a variance of their own:
//             s = sum_j D_j z_j^2 + k'Pk replaces k.v
//   none      with the linear kernel, or if hypotheses are averaged
// `auto` is full while there are at most B coordinates (with a byte limit: while there can be),
// then diagonal. It is none if rows are dense: if they have more than kDense nonzero values and the
// examples are at least half as many. Then a learner with a straight part races with it and keeps
// its own (race.hpp, docs/develop/decisions/0050, 0070).
//
// The floor: b v v' reduces P so that k'Pk becomes s r/(s + r). It is not reduced below `floor`:
// the update is that of an observation with the noise s floor/(s - floor), and none if s is already
// below.
//
// The reflex: a second mean (a', w', c') over the same examples and features. It always learns with
// the initial covariance, diag(tau I, Kinv), so no second covariance is stored.
//   l' = max(1, w) - y f' :  v = (tau z, Kinv k) ;  a' <- (1 - 1/4000) a' ;
//   (c', w', a') += l' y v/((z, k).v + r)
// if l' is above a fifth of the required margin; while the reflex has less than 1 % of the answer,
// only on its mistakes. The answer is p f + (1 - p) f', where p depends on recent mistakes
// (reflex_share.hpp). Each has its own margin and its own best wrong class; admission and drift use
// the answer. While p < 1/2 `auto` replaces on every mistake, and the oldest leaves; then a also
// moves by Kinv_i, not by P_i. Both means are conditioned on a coef of 0 for an example that leaves
// (docs/develop/decisions/0051).
//
// The reflex of a regression learns in every round, with 10 r for r, from an error of at most 4
// mean |e|; p is the share that would have had the least recent squared error (reflex_mix.hpp).
// Replacing depends on the drift alone. At a drift, and when the reflex leads, with `auto`, the
// belief takes over the answer, a <- p a + (1 - p) a', and its covariance starts again
// (docs/develop/decisions/0073).
//
// P and Kinv are stored as in covariance.hpp, and so stay positive definite; examples are ordered
// by age. Kinv is freed when it is no longer needed: budget full, never replacing, no reflex.
//
// Invariants: Kinv = (K + jitter I)^-1 unless delta2 had to be raised (`raised`), P positive
// definite. check_invariants() recomputes the Gram matrix.
// Cost: O(B d) per round; O((B + d)^2) in rounds that update, diagonal O(B^2 + d), three passes
// over the memory of P.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hypothesis/capacity.hpp"
#include "hypothesis/covariance.hpp"
#include "hypothesis/gram_factor.hpp"
#include "hypothesis/padded_matrix.hpp"
#include "learners/drift.hpp"
#include "learners/learner.hpp"
#include "learners/reflex_mix.hpp"
#include "learners/reflex_share.hpp"
#include "learners/relevance.hpp"

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
        floor_(spec.number("floor")),
        form_(form_called(spec.text("straight"), make_kernel(spec.part("kernel")))),
        turns_(spec.text("straight") == "auto"),
        reflects_(spec.flag("reflex")),
        relates_(spec.flag("relevance") &&
                 make_kernel(spec.part("kernel")).kind == KernelKind::rbf),
        belief_(budget_),
        prior_(budget_),
        straight_(outputs, reflects_ ? 2 : 1),
        reflex_(outputs, 0),
        drift_(outputs),
        zeros_(outputs, 0.0),
        moves_(outputs, 0.0) {
    if (admission_ == Admission::error) std::construct_at(&mix_);
  }

  bool learn(const Turn<Real>& turn) override {
    const bool regresses = admission_ == Admission::error;
    double loss = regresses ? -turn.margin : wanted(turn) - turn.margin;
    if (form_ != Form::none && !count(turn.x) && reflects_) decide_parts(*turn.row, turn.x);
    if (relates_) count_relevance(turn);
    const bool taken = follow_drift(turn);
    if (taken) decide_parts(*turn.row, turn.x);
    double other = 0.0;  // loss of the reflex
    if (reflects_) {
      aim(turn, loss, other);
      count_share(turn, loss, other);
    }
    if (!regresses && loss <= 0.0 && !(reflects_ && stirs(turn, other))) return false;
    gather(*turn.row);
    if (wants(turn.margin) && !held_) {
      const bool room = f_.has_room(turn.x);
      if ((!room && !replacing()) || !novel(turn.self)) {
        // Nothing is stored.
      } else if (note_variance(turn); room) {
        admit(turn, f_.size());
      } else {
        const std::size_t index = make_place(turn);
        if (reflects_) {
          decide_parts(*turn.row, turn.x);
          aim(turn, loss, other);
        } else {
          decide_by(*turn.row, turn.x, moves_);
          const double now = f_.inner(turn.direction, moves_) / turn.weight;
          const double then = f_.inner(turn.direction, turn.outputs) / turn.weight;
          loss = regresses ? loss + then - now : std::max(0.0, wanted(turn) - now);
        }
        gather(*turn.row);
        measure();
        admit(turn, index);
        ++replacements_;
      }
    }
    if (f_.size() == 0 && form_ == Form::none) return false;
    if (form_ != Form::none) see(turn.x);
    if (regresses) unsettle_constant();
    if (!reflects_ || regresses || loss > 0.0) update(turn, loss);
    if (reflects_ && stirs(turn, other)) reflect(turn, other);
    return true;
  }

  // z'Pz/r.
  [[nodiscard]] bool believes() const override { return true; }
  [[nodiscard]] double variance(Row<Real>& row, const Sample<Real>& x) const override {
    const std::size_t length = belief_.length();
    row.belief.assign(2 * length, Real(0));
    Real* const z = row.belief.data();
    const std::size_t first = this->first();
    if (first > 0) {
      straight_.each(x, [&](std::size_t j, double value) { z[j] = static_cast<Real>(value); });
    }
    for (std::size_t p = 0; p < order_.size(); ++p) z[first + p] = row.values[order_[p]];
    const double apart = form_ == Form::diagonal ? straight_.spread(x) : 0.0;
    return (apart + belief_.variance(z, z + length)) / r_;
  }
  [[nodiscard]] double last_variance() const override { return last_spread_ / r_; }

  void decide_by(Row<Real>& row, const Sample<Real>& x, std::span<double> outputs) const override {
    if (!reflects_) {
      f_.decide(row, outputs);
      if (form_ != Form::none) straight_.decide(x, outputs);
      return;
    }
    decide_parts(row, x);
    const double share = of_belief();
    const double* const reflex = row.parts.data() + outputs.size();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      outputs[k] = share * row.parts[k] + (1.0 - share) * reflex[k];
    }
  }
  void reserve_row(Row<Real>& row) const override {
    ExpansionLearner<Real>::reserve_row(row);
    if (reflects_) row.parts.reserve(2 * f_.outputs());
  }
  [[nodiscard]] bool lost_straight() const override {
    return turns_ && rule_ != Form::none && form_ == Form::none;
  }
  void keep_straight() override { keeps_straight_ = true; }
  [[nodiscard]] bool can_be_recent() const override {
    return admission_ == Admission::mistake && (replace_ == Replace::automatic || turned_.recent);
  }
  [[nodiscard]] bool recent() const override { return turned_.recent; }
  void be_recent() override {
    replace_ = Replace::recent;
    form_ = rule_ = Form::none;
    turned_.recent = true;
  }
  void be_averaged() override {
    form_ = rule_ = Form::none;
    reflects_ = false;
  }
  [[nodiscard]] double coef(std::size_t i, std::size_t k) const override {
    return coef(i, k, reflects_ ? of_belief() : 1.0);
  }
  [[nodiscard]] double weight(std::size_t j, std::size_t k) const override {
    return weight(j, k, reflects_ ? of_belief() : 1.0);
  }
  [[nodiscard]] std::vector<Share<Real>> shares() const override {
    return {{&f_, [this](std::size_t i, std::size_t k) { return coef(i, k); }}};
  }
  [[nodiscard]] const StraightPart* straight_part() const override {
    return form_ != Form::none ? &straight_ : nullptr;
  }

  [[nodiscard]] std::span<const std::int64_t> drifts() const override { return drift_.log(); }
  void take_drifts(std::span<const std::int64_t> log) override { drift_.take_log(log); }

  [[nodiscard]] std::vector<double> take_relevance() override {
    if (!relates_ || form_ != Form::full) return {};
    std::vector<double> found = relevance_.find();
    relevance_.restart();
    return found;
  }
  UnitsChanged change_units(const UnitChange& change, double gamma_factor) override {
    if (change.keeps_values) note_values();
    return ExpansionLearner<Real>::change_units(change, gamma_factor);
  }

  // P stays: it does not depend on the targets, so it is the same as if they had always been in the
  // new unit.
  void scale_targets(double factor) override {
    f_.multiply(factor);
    for (std::size_t i = 0; reflects_ && i < f_.size(); ++i) reflex_.row(0)[i] *= factor;
    if (admission_ == Admission::error) mix_.scale(factor);
    straight_.multiply(factor);
    mean_error_ *= factor;
  }
  void doubt() override {
    if (follows()) be_unsure();
  }

  [[nodiscard]] bool unsettled() const override {
    return (replace_ == Replace::automatic && replacing()) ||
           (replace_ == Replace::recent && drift_.open());
  }
  // A worker's belief has no floor: then the change of P^-1 by a row does not depend on the rows
  // before it, and the changes of several workers add up.
  void hold() override { held_ = true; }
  void decide_held(std::int64_t round) override {
    held_ = false;
    if (form_ == Form::full && !fits_full()) be_diagonal();
    if (follows() && (suspicion_.rounds > 0 || drift_.due())) {
      be_adrift(round);
    }
    suspicion_ = {};
  }

  bool shift_targets(double by) override {
    return form_ != Form::none && straight_.add_to_constant(by);
  }

  void rearrange(const ClassChange& change) override {
    f_.rearrange(change);
    straight_.rearrange(change);
    reflex_.rearrange(change);
    drift_.rearrange(change);
    zeros_.resize(f_.outputs(), 0.0);
    moves_.resize(f_.outputs(), 0.0);
  }

  void reserve(const ByteLimit& limit) override {
    f_.reserve(limit);
    relates_ = false;  // not needed: with a byte limit no metric races
    reserve_straight(limit);
    if (reflects_) {
      reflex_.widen(f_.stride());
      direction_.reserve(2 * f_.outputs());
    }
    belief_.reserve();
    prior_.reserve();
    reserve();
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this));
    visitor.part_if(turned_.recent, "turned", turned_);
    if (turned_.recent) {
      require(admission_ == Admission::mistake && follows(), "turned");
      be_recent();
    }
    visitor.part("expansion", f_);
    if (rule_ != Form::none) visit_straight(visitor);
    if (visitor.loading()) find_order();
    if (reflects_) visit_reflex(visitor);
    if (relates_) visitor.part("relevance", relevance_);
    belief_.visit_state(visitor, "belief");
    prior_.visit_state(visitor, "prior");
    visitor.part("drift", drift_);
    visitor.part_if(suspicion_.rounds > 0, "suspicion", suspicion_);
    visitor.field("mean_error", mean_error_);
    visitor.field("errors", errors_);
    visitor.field("admissions", admissions_);
    visitor.field("replacements", replacements_);
    visitor.field("raised", raised_);
    if (visitor.loading()) {
      // A learner that was full before it got a larger budget has no Kinv.
      const bool lacks = prior_.size() == 0 && keeps_prior();
      require(belief_.size() == first() + f_.size() &&
                  (lacks || prior_.size() == (keeps_prior() ? f_.size() : 0)),
              "belief");
      zeros_.assign(f_.outputs(), 0.0);
      moves_.assign(f_.outputs(), 0.0);
      reserve();
      if (lacks) find_prior();
    }
    visitor.scratch(gradient_);
    visitor.scratch(values_);
    visitor.scratch(order_);
    visitor.scratch(kernel_);
    visitor.scratch(gain_);
    visitor.scratch(coordinates_);
    visitor.scratch(steps_);
    visitor.scratch(direction_);
    visitor.scratch(weights_);
    visitor.scratch(zeros_);
    visitor.scratch(moves_);
  }

  void check_invariants() const override {
    f_.check_invariants();
    belief_.check_invariants();
    straight_.check_invariants();
    prior_.check_invariants();
    if (prior_.size() > 0 && raised_ == 0) check_prior();
  }

  void lower(std::size_t budget, std::size_t slots, Row<Real>& row, Random& random) override {
    reserve();
    ExpansionLearner<Real>::lower(budget, slots, row, random);
    budget_ = std::min(budget_, budget);
    if (slots > 0) relates_ = false;  // as in `reserve`: it will be loaded with a byte limit
    if (form_ == Form::full && !fits_full()) be_diagonal();
    if (!keeps_prior()) {
      prior_.free();
    } else if (prior_.size() != f_.size()) {
      find_prior();
    }
  }

 protected:
  // a and P stay; Kinv is recomputed from the converted examples. w and c, and their part of P, are
  // converted.
  void follow_units(const UnitChange& change) override {
    if (form_ != Form::none && change.converts) {
      straight_.change_units(change, form_ == Form::full ? &steps_ : nullptr);
      if (form_ == Form::full) belief_.change(steps_);
    }
    if (change.keeps_values) {
      reserve();
      find_prior();
      take_values();
      be_unsure();
      if (!keeps_prior()) prior_.free();
      return;
    }
    if (!keeps_prior()) return;
    reserve();
    find_prior();
  }
  void lower_to(std::size_t size, Row<Real>& row, Random&) override {
    while (f_.size() > size) leave(drop(), row);
  }

 private:
  using ExpansionLearner<Real>::f_;
  enum class Replace { automatic, never, always, recent };
  enum class Admission { mistake, margin, error };
  // Of a worker: the rounds in which it would have called a drift.
  struct Suspicion {
    std::int64_t rounds = 0;

    void visit_state(StateVisitor& visitor) { visitor.field("rounds", rounds); }
  };
  // Whether it was made to keep the most recent examples, without a straight part.
  struct Turned {
    bool recent = false;

    void visit_state(StateVisitor& visitor) { visitor.field("recent", recent); }
  };
  enum class Form : std::int64_t { none, full, diagonal };  // of the belief over w and c
  static constexpr double kErrors = 1000.0;     // rounds of the running mean of the error
  static constexpr double kMostError = 10.0;    // means: larger errors count as this
  static constexpr double kSurprise = 4.0;      // means: larger errors count as this in the drift
  static constexpr double kLevel = 200.0;       // rows over which c follows the targets
  static constexpr std::size_t kFeatures = 64;  // that always get a weight
  static constexpr double kDense = 100.0;       // nonzero values per row: more is dense
  static constexpr double kSmall = 0.2;         // of the margin: the reflex ignores smaller losses
  static constexpr double kLost = 1.0 / 4000;   // share of the reflex's coefs lost when it learns
  static constexpr double kDoubted = 10.0;      // factor of r for the reflex of a regression
  static constexpr std::size_t kMostWide = std::size_t{1} << 31;

  static Replace replace_called(const std::string& name) {
    if (name == "auto") return Replace::automatic;
    if (name == "never") return Replace::never;
    if (name == "always") return Replace::always;
    if (name == "recent") return Replace::recent;
    throw std::invalid_argument("unknown rule for replacing '" + name + "'");
  }
  static Admission admission_called(const std::string& name) {
    if (name == "mistake") return Admission::mistake;
    if (name == "margin") return Admission::margin;
    if (name == "error") return Admission::error;
    throw std::invalid_argument("no admission is called '" + name + "'");
  }

  static Form form_called(const std::string& name, const Kernel& kernel) {
    if (name == "none" || kernel.kind == KernelKind::linear) return Form::none;
    if (name == "auto" || name == "full") return Form::full;
    if (name == "diagonal") return Form::diagonal;
    throw std::invalid_argument("no straight part is called '" + name + "'");
  }

  [[nodiscard]] bool keeps_prior() const {
    return reflects_ || replace_ != Replace::never || f_.size() < budget_;
  }
  // Whether a drift changes the belief.
  [[nodiscard]] bool follows() const {
    return replace_ == Replace::automatic || replace_ == Replace::recent;
  }
  [[nodiscard]] bool replacing() const {
    return replace_ == Replace::always || replace_ == Replace::recent ||
           (replace_ == Replace::automatic && (drift_.open() || leads()));
  }

  // Returns whether the belief's mean has changed.
  bool follow_drift(const Turn<Real>& turn) {
    if (!follows()) return false;
    const bool regresses = admission_ == Admission::error;
    if (!regresses && !drift_.counts(class_of(turn))) return false;
    drift_.observe(regresses ? surprise(turn) : turn.margin <= 0.0);
    const bool due = drift_.due();
    if (held_) {
      if (due) ++suspicion_.rounds;
      return false;
    }
    if (due) {
      be_adrift(turn.round);
    } else if (regresses && reflects_ && mix_.reflex_leads()) {
      take_over();
      be_unsure();
    } else {
      return false;
    }
    return regresses && reflects_;
  }
  void be_adrift(std::int64_t round) {
    drift_.call(round);
    errors_ = 0;
    if (reflects_ && admission_ == Admission::error) take_over();
    be_unsure();
    f_.report({EventKind::drift});
  }
  // Regression: the belief's mean becomes that of the answer.
  void take_over() {
    for (std::size_t i = 0; i < f_.size(); ++i) f_.stored_coefs(0)[i] = coef(i, 0);
    for (std::size_t j = 0; form_ != Form::none && j < straight_.size(); ++j) {
      straight_.weights(0)[j] = weight(j, 0);
    }
    mix_ = ReflexMix();
  }
  // Regression: the error in units of kSurprise mean errors; may be above 1.
  [[nodiscard]] double surprise(const Turn<Real>& turn) const {
    return -turn.margin < kSurprise * mean_error_ ? -turn.margin / (kSurprise * mean_error_) : 1.0;
  }
  // Sets the covariance to the initial one.
  void be_unsure() {
    belief_.copy(prior_, first(), straight_.tau());
    if (first() > 0) belief_.set_variance(0, straight_.tau_of_constant());
    if (form_ == Form::diagonal) straight_.reset_variances();
  }

  // The class of the row: the direction points to it.
  [[nodiscard]] static std::size_t class_of(const Turn<Real>& turn) {
    if (turn.direction.size() == 1) return turn.direction[0] > 0.0 ? 1 : 0;
    std::size_t code = 0;
    while (!(turn.direction[code] > 0.0)) ++code;
    return code;
  }

  // The required margin of a row.
  [[nodiscard]] static double wanted(const Turn<Real>& turn) { return std::max(1.0, turn.weight); }

  // The noise variance of a row.
  [[nodiscard]] double noise(const Turn<Real>& turn) const {
    return r_ / (admission_ == Admission::error ? turn.weight : std::min(1.0, turn.weight));
  }

  // Whether x should be stored; counts the error.
  bool wants(double margin) {
    if (admission_ == Admission::mistake) return replace_ == Replace::recent || margin <= 0.0;
    if (admission_ == Admission::margin) return true;
    const bool above = -margin > mean_error_;
    const double most = mean_error_ > 0.0 ? kMostError * mean_error_ : -margin;
    const double error = std::min(-margin, most);
    mean_error_ += (error - mean_error_) / std::min(static_cast<double>(++errors_), kErrors);
    return above;
  }

  // ---- the straight part ----------------------------------------------------------------------

  // The number of coordinates of the belief before those of the examples.
  [[nodiscard]] std::size_t first() const { return form_ == Form::full ? straight_.size() : 0; }
  // The full form may have at most as many coordinates as there are examples.
  [[nodiscard]] bool fits_full() const { return !turns_ || straight_.size() <= budget_; }
  // The weights may cost about as much as the values of the examples.
  [[nodiscard]] std::size_t most_features() const {
    if (features_reserved_ > 0) return features_reserved_;
    const std::size_t most = std::max<std::size_t>(kFeatures, budget_ * widest_);
    // A worker does not change its form.
    return held_ && turns_ && form_ == Form::full ? std::min(most, budget_ - 1) : most;
  }

  // On images and the like examples alone do better, unless they are few.
  [[nodiscard]] bool dense() const {
    return straight_.nonzeros() > kDense &&
           straight_.nonzeros() <= 2.0 * static_cast<double>(budget_);
  }
  // Returns whether there is still a straight part.
  bool count(const Sample<Real>& x) {
    straight_.count(x);
    if (!turns_ || held_ || keeps_straight_ || !straight_.counted() || !dense()) return true;
    if (form_ == Form::full) be_diagonal();
    straight_.clear();
    form_ = Form::none;
    return false;
  }

  // Gives the features of x their coordinates.
  void see(const Sample<Real>& x) {
    const auto zeros = std::count(x.values, x.values + x.count, Real(0));
    widest_ = std::max(widest_, x.count - static_cast<std::size_t>(zeros));
    const std::size_t before = straight_.size();
    const std::size_t added = straight_.see(x, most_features());
    if (form_ == Form::diagonal) straight_.follow_size();
    if (form_ != Form::full || added == 0) return;
    if (features_reserved_ == 0) belief_.set_capacity(budget_ + straight_.size());
    belief_.insert(before, added, straight_.tau());
    if (before == 0) belief_.set_variance(0, straight_.tau_of_constant());
    if (!fits_full()) be_diagonal();
  }

  // The level of the targets may have changed a little since the last row.
  void unsettle_constant() {
    if (floor_ == 0.0 || held_) return;  // what was learned must stay
    const double grown = r_ / (kLevel * kLevel);
    if (form_ == Form::full) belief_.add_to_first(grown);
    if (form_ == Form::diagonal) straight_.add_to_variance_of_constant(grown);
  }

  // Drops the covariances of w and c with each other and with the coefs.
  void be_diagonal() {
    const std::size_t first = straight_.size();
    AlignedVector<Real> variances(belief_.length(), Real(0));
    belief_.diagonal(variances.data());
    straight_.set_variances(variances.data());
    belief_.keep_from(first);
    belief_.set_capacity(budget_);
    form_ = Form::diagonal;
  }

  // With a byte limit there are as many weights as features that examples can have.
  void reserve_straight(const ByteLimit& limit) {
    if (form_ == Form::none) return;
    features_reserved_ = std::max<std::size_t>(1, limit.slots);
    if (turns_ && 1 + features_reserved_ > budget_) form_ = Form::diagonal;
    straight_.reserve(limit.width, features_reserved_, form_ == Form::diagonal);
    if (form_ != Form::full) return;
    const std::size_t most = budget_ + 1 + features_reserved_;
    belief_.set_capacity(most);
    coordinates_.reserve(whole(most));
    gain_.reserve(whole(most));
    if (limit.changes) steps_.reserve(1 + features_reserved_);
  }

  void visit_straight(StateVisitor& visitor) {
    auto form = static_cast<std::int64_t>(form_);
    visitor.field("form", form);
    visitor.field("widest", widest_);
    visitor.part("straight", straight_);
    if (!visitor.loading()) return;
    require(form >= 0 && form <= 2 && widest_ <= kMostWide, "straight part");
    form_ = static_cast<Form>(form);
    // Otherwise it had none.
    keeps_straight_ = form_ != Form::none && straight_.counted() && dense();
    require(straight_.has_variances() == (form_ == Form::diagonal && straight_.size() > 0),
            "straight part");
    if (features_reserved_ == 0 || form_ != Form::full) belief_.set_capacity(budget_ + first());
  }

  // The sum of the belief, with this share of the answer, and the reflex.
  [[nodiscard]] double coef(std::size_t i, std::size_t k, double share) const {
    if (!reflects_) return f_.coef(i, k);
    return share * f_.coef(i, k) + (1.0 - share) * reflex_.row(k)[i];
  }
  [[nodiscard]] double weight(std::size_t j, std::size_t k, double share) const {
    if (!reflects_) return straight_.weights(k)[j];
    return share * straight_.weights(k)[j] + (1.0 - share) * straight_.weights(k, 1)[j];
  }

  // ---- relevance ------------------------------------------------------------------------------

  // The gradient of the lead of the row's class over its best rival:
  // df/dx_j = 2 gamma sum_i a_i k_i (x_ij - x_j) + w_j
  void count_relevance(const Turn<Real>& turn) {
    if (form_ != Form::full || f_.size() == 0 || !Relevance::counts(turn.round)) return;
    const std::size_t width = static_cast<std::size_t>(straight_.last_feature()) + 1;
    if (width > Relevance::kFeatures) return;
    std::vector<double>& gradient = gradient_;
    gradient.assign(width, 0.0);
    const double scale = 2.0 * f_.kernel().gamma;
    const double share = reflects_ ? of_belief() : 1.0;
    double sum = 0.0;
    values_.resize(f_.size());
    for (std::size_t i = 0; i < f_.size(); ++i) {
      double q = 0.0;
      for (std::size_t k = 0; k < f_.outputs(); ++k) {
        if (turn.direction[k] != 0.0) q += turn.direction[k] * coef(i, k, share);
      }
      q *= scale * static_cast<double>(turn.row->values[i]) / turn.weight;
      sum += q;
      values_[i] = q;
    }
    f_.add_weighed(values_, gradient);
    for (std::size_t at = 0; at < turn.x.count; ++at) {
      const auto j = static_cast<std::size_t>(turn.x.feature(at));
      if (j < width) gradient[j] -= sum * static_cast<double>(turn.x.values[at]);
    }
    for (std::size_t j = 1; j < straight_.size(); ++j) {
      double w = 0.0;
      for (std::size_t k = 0; k < f_.outputs(); ++k) w += turn.direction[k] * weight(j, k, share);
      gradient[static_cast<std::size_t>(straight_.feature(j - 1))] += w / turn.weight;
    }
    relevance_.count(turn.x, gradient);
  }

  // Saves (K + jitter I) a of both means; then finds the a that gives the same values again.
  void note_values() {
    const std::size_t n = f_.size();
    values_.assign(n * f_.outputs() * 2, 0.0);
    Row<Real> row;
    for (std::size_t i = 0; i < n; ++i) {
      f_.row_of_stored(i, row);
      for (std::size_t k = 0; k < f_.outputs(); ++k) {
        for (std::size_t set = 0; set < (reflects_ ? 2U : 1U); ++set) {
          const double* a = set == 0 ? f_.stored_coefs(k) : reflex_.row(k);
          double sum = jitter_ * a[i];
          for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(row.values[j]) * a[j];
          values_[(set * f_.outputs() + k) * n + i] = sum;
        }
      }
    }
  }
  void take_values() {
    const std::size_t n = f_.size();
    for (std::size_t set = 0; set < (reflects_ ? 2U : 1U); ++set) {
      for (std::size_t k = 0; k < f_.outputs(); ++k) {
        kernel_.assign(prior_.length(), Real(0));
        const double* const values = values_.data() + (set * f_.outputs() + k) * n;
        for (std::size_t p = 0; p < n; ++p) kernel_[p] = static_cast<Real>(values[order_[p]]);
        measure();
        double* const a = set == 0 ? f_.stored_coefs(k) : reflex_.row(k);
        for (std::size_t p = 0; p < n; ++p) a[order_[p]] = static_cast<double>(gain_[p]);
      }
    }
  }

  // ---- the reflex -----------------------------------------------------------------------------

  // Whether the reflex of a classifier has more than half of the answer.
  [[nodiscard]] bool leads() const {
    return admission_ != Admission::error && share_.reflex_leads();
  }
  // The weight of the belief in the answer.
  [[nodiscard]] double of_belief() const {
    return admission_ == Admission::error ? mix_.of_belief() : share_.of_belief();
  }
  void count_share(const Turn<Real>& turn, double loss, double other) {
    if (admission_ == Admission::error) {
      mix_.count(turn.weight, turn.target - turn.row->parts[0], turn.target - turn.row->parts[1]);
    } else {
      share_.count(turn.weight, loss >= wanted(turn), other >= wanted(turn));
    }
  }

  // Whether the reflex learns from this loss.
  [[nodiscard]] bool stirs(const Turn<Real>& turn, double loss) const {
    if (admission_ == Admission::error) return true;
    return share_.silent() ? loss >= wanted(turn) : loss > kSmall * wanted(turn);
  }

  // The outputs of the belief, then those of the reflex. The row keeps them for `learn`.
  void decide_parts(Row<Real>& row, const Sample<Real>& x) const {
    const std::size_t outputs = f_.outputs();
    row.parts.resize(2 * outputs);
    f_.decide(row, {row.parts.data(), outputs});
    double* const reflex = row.parts.data() + outputs;
    const auto dot = row_functions<Real>().dot;
    const std::size_t n = padded(f_.size());
    for (std::size_t k = 0; k < outputs; ++k) {
      reflex[k] = n > 0 ? dot(row.values.data(), reflex_.row(k), n) : 0.0;
    }
    if (form_ != Form::none) straight_.decide_all(x, row.parts);
  }

  // The loss of each of the two, and where it should move. Their directions differ, because the
  // best wrong class of one need not be that of the other.
  void aim(const Turn<Real>& turn, double& loss, double& other) {
    const std::size_t outputs = f_.outputs();
    const double* const parts = turn.row->parts.data();
    direction_.resize(2 * outputs);
    if (admission_ == Admission::error) {
      loss = aim_at_target(turn, parts[0], direction_[0]);
      other = aim_at_target(turn, parts[1], direction_[1]);
      return;
    }
    loss = wanted(turn) - aim_at(turn, {parts, outputs}, {direction_.data(), outputs});
    other = wanted(turn) -
            aim_at(turn, {parts + outputs, outputs}, {direction_.data() + outputs, outputs});
  }
  // Regression: the absolute error of this decision.
  static double aim_at_target(const Turn<Real>& turn, double decision, double& direction) {
    const double error = turn.target - decision;
    direction = error < 0.0 ? -turn.weight : turn.weight;
    return std::abs(error);
  }
  // The margin of these decisions.
  double aim_at(const Turn<Real>& turn, std::span<const double> decisions,
                std::span<double> direction) const {
    std::copy(turn.direction.begin(), turn.direction.end(), direction.begin());
    if (direction.size() > 1) {
      const auto at = std::max_element(direction.begin(), direction.end()) - direction.begin();
      const auto code = static_cast<std::size_t>(at);
      std::size_t wrong = code == 0 ? 1 : 0;
      for (std::size_t k = 1; k < direction.size(); ++k) {
        if (k != code && decisions[k] > decisions[wrong]) wrong = k;
      }
      const double up = direction[code];
      std::fill(direction.begin(), direction.end(), 0.0);
      direction[code] = up;
      direction[wrong] = -up;
    }
    return f_.inner(direction, decisions) / turn.weight;
  }
  // The update of a belief that has seen no row: v = (tau z, Kinv k); P stays.
  void reflect(const Turn<Real>& turn, double loss) {
    measure();
    const double tau = form_ != Form::none ? straight_.tau() : 0.0;
    const double spread = reach_ + (tau > 0.0 ? tau * straight_.square(turn.x) : 0.0);
    if (!std::isfinite(spread)) return;
    const double step = believed(loss) / (spread + doubted(turn)) / turn.weight;
    const double kept = 1.0 - kLost * std::min(1.0, turn.weight);
    const double* const direction = direction_.data() + f_.outputs();
    for (std::size_t k = 0; k < moves_.size(); ++k) {
      moves_[k] = step * direction[k];
      double* const a = reflex_.row(k);
      for (std::size_t i = 0; i < order_.size(); ++i) a[i] *= kept;
      if (moves_[k] == 0.0) continue;
      for (std::size_t p = 0; p < order_.size(); ++p)
        a[order_[p]] += moves_[k] * static_cast<double>(gain_[p]);
    }
    if (tau > 0.0) straight_.shift_along(turn.x, tau, moves_, 1);
  }

  // Regression: one absurd target must not carry the reflex away, and a reflex that trusts targets
  // as much as the belief does follows their noise.
  [[nodiscard]] double believed(double loss) const {
    const bool bounds = admission_ == Admission::error && mean_error_ > 0.0;
    return bounds ? std::min(loss, kSurprise * mean_error_) : loss;
  }
  [[nodiscard]] double doubted(const Turn<Real>& turn) const {
    return admission_ == Admission::error ? kDoubted * noise(turn) : noise(turn);
  }

  // Conditions the reflex on a_i = 0, as a belief that has seen no row.
  void reflect_dropped(std::size_t i) {
    prior_.column(i, gain_.data());
    for (std::size_t k = 0; k < f_.outputs(); ++k) forget(reflex_.row(k), i);
  }
  // Conditions the coefs a on a_i = 0, as a belief that has seen no row; Kinv_i is in gain_.
  void forget(double* a, std::size_t i) {
    const double share = a[order_[i]] / static_cast<double>(gain_[i]);
    for (std::size_t p = 0; p < order_.size(); ++p)
      a[order_[p]] -= share * static_cast<double>(gain_[p]);
    a[order_[i]] = 0.0;
  }

  // Saved with the oldest example first.
  void visit_reflex(StateVisitor& visitor) {
    if (admission_ == Admission::error) {
      mix_.visit_state(visitor);
    } else {
      share_.visit_state(visitor);
    }
    if (visitor.mode() == StateVisitor::Mode::count) {
      reflex_.visit_state(visitor, "reflex", 0, 0);
      return;
    }
    std::vector<double> numbers;
    for (std::size_t p = 0; p < order_.size() && !visitor.loading(); ++p) {
      for (std::size_t k = 0; k < f_.outputs(); ++k) numbers.push_back(reflex_.row(k)[order_[p]]);
    }
    visitor.field("reflex", numbers);
    if (!visitor.loading()) return;
    require(numbers.size() == order_.size() * f_.outputs() && all_finite(numbers), "reflex");
    reflex_ = PaddedMatrix(f_.outputs(), std::max(reflex_.stride(), f_.stride()));
    for (std::size_t p = 0; p < order_.size(); ++p) {
      for (std::size_t k = 0; k < f_.outputs(); ++k) {
        reflex_.row(k)[order_[p]] = numbers[p * f_.outputs() + k];
      }
    }
  }
  void find_order() {
    order_.resize(f_.size());
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    std::sort(order_.begin(), order_.end(),
              [this](std::uint32_t i, std::uint32_t j) { return f_.id(i) < f_.id(j); });
  }

  // ---- the belief -----------------------------------------------------------------------------

  static std::size_t whole(std::size_t count) { return Covariance<Real>::whole(count); }

  // Copies the kernel row in the order of the belief.
  void gather(const Row<Real>& row) {
    reserve();
    kernel_.assign(whole(order_.size()), Real(0));
    for (std::size_t p = 0; p < order_.size(); ++p) kernel_[p] = row.values[order_[p]];
  }

  // Whether the gathered x is new; calls `measure`.
  bool novel(double self) {
    measure();
    return self - reach_ > least(self);
  }

  // At least the jitter, and at least the rounding, which kInSpan bounds.
  [[nodiscard]] double least(double self) const { return std::max(jitter_, kInSpan<Real> * self); }

  // d = Kinv k into gain_, and k.d, for the x whose kernel row is gathered.
  void measure() {
    gain_.assign(prior_.length(), Real(0));
    reach_ = prior_.project(kernel_.data());
    prior_.product(gain_.data());
  }

  // x, gathered and measured, becomes the example with this index.
  void admit(const Turn<Real>& turn, std::size_t index) {
    const std::size_t n = order_.size();
    const double delta2 = append_prior(turn.self);
    belief_.append(of_belief(gain_), delta2);
    if (index == f_.size()) {
      f_.add(turn, zeros_);
    } else {
      f_.replace(index, turn, zeros_, EventKind::none);
    }
    order_.push_back(static_cast<std::uint32_t>(index));
    if (reflects_) reflex_.widen(f_.stride());
    kernel_.resize(whole(n + 1), Real(0));
    kernel_[n] = static_cast<Real>(turn.self);
    ++admissions_;
    if (!keeps_prior()) prior_.free();
  }

  // A vector over the examples in the belief's order, behind zeros for w and c.
  const Real* of_belief(const AlignedVector<Real>& numbers) {
    if (first() == 0) return numbers.data();
    coordinates_.assign(belief_.length(), Real(0));
    std::copy_n(numbers.begin(), order_.size(),
                coordinates_.begin() + static_cast<std::ptrdiff_t>(first()));
    return coordinates_.data();
  }

  // Drops examples until x has room; returns the index for it.
  std::size_t make_place(const Turn<Real>& turn) {
    while (true) {
      const std::size_t index = drop();
      if (f_.fits(turn.x)) return index;
      leave(index, *turn.row);
      if (f_.has_room(turn.x)) return f_.size();
    }
  }

  // The dropped example also leaves the expansion; the last one takes its index.
  void leave(std::size_t index, Row<Real>& row) {
    f_.remove(index, row, EventKind::none);
    for (std::size_t k = 0; k < f_.outputs() && reflects_; ++k) {
      reflex_.row(k)[index] = reflex_.row(k)[f_.size()];
      reflex_.row(k)[f_.size()] = 0.0;
    }
    for (std::uint32_t& other : order_) {
      if (other == f_.size()) other = static_cast<std::uint32_t>(index);
    }
  }

  // Recomputes a Kinv that was freed, example by example in the order of admission.
  void find_prior() {
    prior_.free();
    Row<Real>& row = f_.side_row();
    for (std::size_t p = 0; p < order_.size(); ++p) {
      f_.row_of_stored(order_[p], row);
      kernel_.assign(prior_.length(), Real(0));
      for (std::size_t q = 0; q < p; ++q) kernel_[q] = row.values[order_[q]];
      measure();
      append_prior(row.self);
    }
  }

  // Adds the measured x to Kinv; returns delta2.
  double append_prior(double self) {
    double delta2 = self + jitter_ - reach_;
    if (!(delta2 >= least(self))) {
      ++raised_;
      delta2 = least(self);
    }
    prior_.append(gain_.data(), delta2);
    return delta2;
  }

  // Conditions on a_i = 0 for the coef that is least certain to differ from 0, or for the oldest
  // while the reflex leads and with `recent`; returns the free index.
  std::size_t drop() {
    const std::size_t first = this->first();
    gain_.assign(belief_.length(), Real(0));
    std::size_t i = 0;
    double variance = 0.0;
    const bool oldest = leads() || replace_ == Replace::recent;
    if (!oldest) {
      i = least_certain();
      variance = static_cast<double>(gain_[first + i]);
    }
    const std::size_t index = order_[i];
    f_.report(EventKind::evict, index);
    if (oldest) {
      // a_i^2/P_ii of the oldest has no bound: with P the others could move by any amount.
      prior_.column(i, gain_.data());
      for (std::size_t k = 0; k < f_.outputs(); ++k) forget(f_.stored_coefs(k), i);
    } else {
      belief_.column(first + i, gain_.data());
      for (std::size_t k = 0; k < f_.outputs(); ++k) {
        double* a = f_.stored_coefs(k);
        const double share = a[index] / variance;
        for (std::size_t p = 0; p < order_.size(); ++p)
          a[order_[p]] -= share * static_cast<double>(gain_[first + p]);
        a[index] = 0.0;
        if (first > 0) straight_.shift_output(k, gain_.data(), -share);
      }
    }
    belief_.remove(first + i);
    if (reflects_) reflect_dropped(i);
    if (prior_.size() > 0) prior_.remove(i);
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(i));
    return index;
  }

  // The place in order_ of the example with the least a_i^2/P_ii; leaves P_ii in gain_.
  std::size_t least_certain() {
    belief_.diagonal(gain_.data());
    const std::size_t first = this->first();
    std::size_t i = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const double score = squared_coef(order_[p]) / static_cast<double>(gain_[first + p]);
      if (score < least) {
        least = score;
        i = p;
      }
    }
    return i;
  }

  [[nodiscard]] double squared_coef(std::size_t index) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < f_.outputs(); ++k) {
      sum += f_.stored_coefs(k)[index] * f_.stored_coefs(k)[index];
    }
    return f_.outputs() == 1 ? sum : 2.0 * sum;
  }

  // Regression: z'Pz before the row is stored, because its error decides that.
  void note_variance(const Turn<Real>& turn) {
    if (admission_ != Admission::error) return;
    const double apart = form_ == Form::diagonal ? straight_.spread(turn.x) : 0.0;
    last_spread_ = apart + belief_.variance(coordinates(turn.x));
    noted_ = true;
  }

  void update(const Turn<Real>& turn, double loss) {
    const double r = noise(turn);
    const double apart = form_ == Form::diagonal ? straight_.spread(turn.x) : 0.0;
    const double spread = apart + belief_.project(coordinates(turn.x), r);  // k.v
    if (!std::isfinite(static_cast<Real>(spread))) return;
    if (!std::exchange(noted_, false)) last_spread_ = spread;
    // P -= c b v v' with c = 1/(K - 1) is the result of an observation with this noise; r itself
    // for c = 1.
    const double others = f_.outputs() > 2 ? static_cast<double>(f_.outputs() - 1) : 1.0;
    const double noise = r * others + spread * (others - 1.0);
    gain_.resize(belief_.length());
    condition(spread, noise, apart);
    const std::size_t first = this->first();
    for (std::size_t p = 0; p < order_.size(); ++p)
      weights_[order_[p]] = static_cast<double>(gain_[first + p]);
    // The direction already includes the weight.
    const double step = loss / (spread + r) / turn.weight;
    const double* const direction = reflects_ ? direction_.data() : turn.direction.data();
    for (std::size_t k = 0; k < moves_.size(); ++k) moves_[k] = step * direction[k];
    f_.shift(weights_, {}, moves_);
    if (form_ == Form::full) straight_.shift(gain_.data(), moves_);
    if (form_ == Form::diagonal) straight_.condition(turn.x, r * others, moves_);
  }

  // x in the coordinates of the belief: (1, x, k), or k alone.
  const Real* coordinates(const Sample<Real>& x) {
    if (first() == 0) return kernel_.data();
    of_belief(kernel_);
    straight_.each(
        x, [this](std::size_t j, double value) { coordinates_[j] = static_cast<Real>(value); });
    return coordinates_.data();
  }

  // Conditions P on an observation with this noise, or with more noise so that k'Pk stays above the
  // floor; leaves v in gain_. `apart`: the part of k.v that does not come from P.
  void condition(double spread, double noise, double apart) {
    if (belief_.size() == 0) return;
    const double floor = held_ ? 0.0 : floor_;
    if (floor > 0.0 && spread <= floor) {
      belief_.product(gain_.data());
      return;
    }
    if (floor > 0.0) noise = std::max(noise, spread * floor / (spread - floor));
    belief_.condition(noise + apart, gain_.data());
  }

  void reserve() {
    if (weights_.size() > f_.size() || weights_.size() == budget_) return;
    const std::size_t places = next_capacity(std::max(weights_.size(), f_.size()), budget_);
    const std::size_t most = whole(places);
    kernel_.reserve(most);
    gain_.reserve(std::max(most, gain_.capacity()));
    order_.reserve(places);
    weights_.resize(places, 0.0);
  }

  // Kinv (K + jitter I) = I up to the rounding of kernel values times the size of Kinv.
  void check_prior() const {
    const std::size_t n = f_.size();
    Covariance<Real> prior = prior_;
    std::vector<std::vector<double>> inverse(n);
    double largest = 1.0;
    for (std::size_t p = 0; p < n; ++p) {
      AlignedVector<Real> column(prior.length(), Real(0));
      prior.column(p, column.data());
      inverse[p].assign(column.begin(), column.end());
      for (const double value : inverse[p]) largest = std::max(largest, std::abs(value));
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
  double floor_;                 // kappa
  Form form_;                    // of the straight part, now
  bool turns_;                   // the form changes to one that fits
  bool keeps_straight_ = false;  // even if rows are dense
  bool reflects_;                // there is a reflex
  bool relates_;                 // relevance is counted
  bool held_ = false;            // it belongs to a worker
  bool noted_ = false;           // last_spread_ is known
  Relevance relevance_;
  std::vector<double> gradient_;
  std::vector<double> values_;
  Form rule_ = form_;         // none: there is no straight part
  Covariance<Real> belief_;   // P
  Covariance<Real> prior_;    // Kinv
  StraightPart straight_;     // w and c
  PaddedMatrix reflex_;       // its coefs, by the index of the examples
  union {                     // the shares of the answer:
    ReflexShare share_ = {};  // for classification
    ReflexMix mix_;           // for regression
  };
  std::vector<double> direction_;  // of the two means
  std::size_t widest_ = 0;         // the most nonzero values of a row it has learned from
  std::size_t features_reserved_ = 0;
  std::vector<std::uint32_t> order_;  // indices of the stored examples, the oldest first
  Drift drift_;
  Suspicion suspicion_;
  Turned turned_;
  double mean_error_ = 0.0;  // regression only
  std::int64_t errors_ = 0;  // rounds in it
  std::int64_t admissions_ = 0;
  std::int64_t replacements_ = 0;
  std::int64_t raised_ = 0;          // admissions whose delta2 was below rounding
  AlignedVector<Real> kernel_;       // k, in the order of the belief
  AlignedVector<Real> gain_;         // v, d or P_i, in the same order
  AlignedVector<Real> coordinates_;  // (1, x, k), for the full form
  std::vector<UnitStep> steps_;      // of a change of units
  double reach_ = 0.0;               // k.d
  double last_spread_ = 0.0;         // k.v of the last row, before it was stored
  std::vector<double> weights_;      // v in the order of the stored examples
  std::vector<double> zeros_;
  std::vector<double> moves_;
};

}  // namespace budgetron
