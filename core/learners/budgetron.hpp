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
// is above the mean |e| of the last 1000 rounds, in which an error counts as at most ten means: one
// absurd value would keep all others out. A drift is a rise of min(1, |e|/(4 mean |e|)); it
// also starts the mean anew. In the 500 rounds after it `auto` replaces as above. The variance of c
// grows by r/200^2 in every round, if there is a floor (below): so c follows the level of the
// targets over about 200 rows
// (docs/develop/decisions/0058).
//
// The straight part (straight_part.hpp):  f = w.x + c + a.k,  one belief over (c, w, a), which
// starts as diag(tau I, Kinv), c with tau/10. Everything above then reads with z = (1, x, k) for k
// and (0, d) for d; a drift makes P the diag(tau I, Kinv) again. Its form is
//   full      P is over all of it; (c, w) come first, so that the rest of P is that of a alone
//   diagonal  P is over a; c and every w_j have a variance of their own:
//             s = sum_j D_j z_j^2 + k'Pk stands for k.v
//   none      with the linear kernel, or where hypotheses are averaged
// `auto` is full while there are at most B coordinates (within a byte limit: could be), then
// diagonal, and none where rows have more than B values that are not 0
// (docs/develop/decisions/0050).
//
// The floor: b v v' takes so much from P that k'Pk becomes s r/(s + r). It takes no more than
// leaves `floor`: as a sight with the noise s floor/(s - floor) would, and nothing if s is below
// already.
//
// The reflex: a second mean (a', w', c') over the same examples and features, which learns for ever
// with the covariance of the beginning, diag(tau I, Kinv): no second covariance is kept.
//   l' = max(1, w) - y f' :  v = (tau z, Kinv k) ;  a' <- (1 - 1/4000) a' ;
//   (c', w', a') += l' y v/((z, k).v + r)
// if l' is above a fifth of the margin wanted; while the reflex has less than 1 % of the answer, on
// its mistakes only. The answer is p f + (1 - p) f', p by recent mistakes (reflex_share.hpp). Each
// has its own margin and its own best wrong class; admission and drift go by the answer. While
// p < 1/2 `auto` replaces on every mistake, and the oldest leaves; a, too, then moves by Kinv_i,
// not by P_i. An example that leaves is known to be 0 to both. Classification only
// (docs/develop/decisions/0051).
//
// P and Kinv are held as in covariance.hpp, and so stay positive definite; their order is that of
// the examples' ages. Kinv is freed when it will not be needed: full, never replacing, no reflex.
//
// Invariants: Kinv = (K + jitter I)^-1 unless delta2 had to be raised (`raised`), P positive
// definite. check_invariants() recomputes the Gram matrix.
// Cost: O(B d) per round; rounds that update O((B + d)^2), diagonal O(B^2 + d), three passes over
// P's memory.
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
#include "hypothesis/padded_matrix.hpp"
#include "learners/drift.hpp"
#include "learners/learner.hpp"
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
        reflects_(spec.flag("reflex") && admission_ != Admission::error),
        relates_(spec.flag("relevance") &&
                 make_kernel(spec.part("kernel")).kind == KernelKind::rbf),
        belief_(budget_),
        prior_(budget_),
        straight_(outputs, reflects_ ? 2 : 1),
        reflex_(outputs, 0),
        drift_(outputs),
        zeros_(outputs, 0.0),
        moves_(outputs, 0.0) {}

  bool learn(const Turn<Real>& turn) override {
    const bool regresses = admission_ == Admission::error;
    double loss = regresses ? -turn.margin : wanted(turn) - turn.margin;
    if (form_ != Form::none && !count(turn.x) && reflects_) decide_parts(*turn.row, turn.x);
    if (relates_) count_relevance(turn);
    watch(turn);
    double other = 0.0;  // loss of the reflex
    if (reflects_) {
      aim(turn, loss, other);
      share_.count(turn.weight, loss >= wanted(turn), other >= wanted(turn));
    }
    if (!regresses && loss <= 0.0 && !(reflects_ && stirs(turn, other))) return false;
    gather(*turn.row);
    if (wants(turn.margin)) {
      const bool room = f_.has_room(turn.x);
      if ((!room && !replacing()) || !novel(turn.self)) {
        // Nothing is stored.
      } else if (room) {
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
    if (!reflects_ || loss > 0.0) update(turn, loss);
    if (reflects_ && stirs(turn, other)) reflect(turn, other);
    return true;
  }

  void decide_by(Row<Real>& row, const Sample<Real>& x, std::span<double> outputs) const override {
    if (!reflects_) {
      f_.decide(row, outputs);
      if (form_ != Form::none) straight_.decide(x, outputs);
      return;
    }
    decide_parts(row, x);
    const double share = share_.of_belief();
    const double* const reflex = row.parts.data() + outputs.size();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      outputs[k] = share * row.parts[k] + (1.0 - share) * reflex[k];
    }
  }
  void reserve_row(Row<Real>& row) const override {
    ExpansionLearner<Real>::reserve_row(row);
    if (reflects_) row.parts.reserve(2 * f_.outputs());
  }
  void be_averaged() override {
    form_ = rule_ = Form::none;
    reflects_ = false;
  }
  [[nodiscard]] double coef(std::size_t i, std::size_t k) const override {
    return coef(i, k, reflects_ ? share_.of_belief() : 1.0);
  }
  [[nodiscard]] double weight(std::size_t j, std::size_t k) const override {
    return weight(j, k, reflects_ ? share_.of_belief() : 1.0);
  }
  [[nodiscard]] std::vector<Share<Real>> shares() const override {
    return {{&f_, [this](std::size_t i, std::size_t k) { return coef(i, k); }}};
  }
  [[nodiscard]] const StraightPart* straight_part() const override {
    return form_ != Form::none ? &straight_ : nullptr;
  }

  [[nodiscard]] std::span<const std::int64_t> drifts() const override { return drift_.log(); }

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

  // P stays: it does not depend on targets, so that it is what it would be had they always been
  // counted in the new unit.
  void scale_targets(double factor) override {
    f_.multiply(factor);
    straight_.multiply(factor);
    mean_error_ *= factor;
  }
  void doubt() override {
    if (replace_ == Replace::automatic) be_unsure();
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
    relates_ = false;  // it has no use: a metric does not race within a limit
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
    visitor.part("expansion", f_);
    if (rule_ != Form::none) visit_straight(visitor);
    if (visitor.loading()) find_order();
    if (reflects_) visit_reflex(visitor);
    if (relates_) visitor.part("relevance", relevance_);
    belief_.visit_state(visitor, "belief");
    prior_.visit_state(visitor, "prior");
    visitor.part("drift", drift_);
    visitor.field("mean_error", mean_error_);
    visitor.field("errors", errors_);
    visitor.field("admissions", admissions_);
    visitor.field("replacements", replacements_);
    visitor.field("raised", raised_);
    if (visitor.loading()) {
      // One that was full before it got a larger budget has no Kinv.
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
    if (slots > 0) relates_ = false;  // as in `reserve`: it is to be loaded within a limit
    if (form_ == Form::full && !fits_full()) be_diagonal();
    if (!keeps_prior()) {
      prior_.free();
    } else if (prior_.size() != f_.size()) {
      find_prior();
    }
  }

 protected:
  // a and P stay; Kinv is that of the examples as they are now. w and c, and P of theirs, follow.
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
  enum class Replace { automatic, never, always };
  enum class Admission { mistake, margin, error };
  enum class Form : std::int64_t { none, full, diagonal };  // of the belief over w and c
  static constexpr double kErrors = 1000.0;                 // rounds the mean error looks back
  static constexpr double kMostError = 10.0;                // means; an error counts as no more
  static constexpr double kSurprise = 4.0;                  // mean errors, at most
  static constexpr double kLevel = 200.0;                   // rows over which c follows targets
  static constexpr std::size_t kFeatures = 64;              // that have a weight whatever it takes
  static constexpr double kSmall = 0.2;                     // of the margin: the reflex lets it be
  static constexpr double kLost = 1.0 / 4000;               // of the reflex's coefs, when it learns
  static constexpr std::size_t kMostWide = std::size_t{1} << 31;

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

  static Form form_called(const std::string& name, const Kernel& kernel) {
    if (name == "none" || kernel.kind == KernelKind::linear) return Form::none;
    if (name == "auto" || name == "full") return Form::full;
    if (name == "diagonal") return Form::diagonal;
    throw std::invalid_argument("no straight part is called '" + name + "'");
  }

  [[nodiscard]] bool keeps_prior() const {
    return reflects_ || replace_ != Replace::never || f_.size() < budget_;
  }
  [[nodiscard]] bool replacing() const {
    return replace_ == Replace::always ||
           (replace_ == Replace::automatic && (drift_.open() || share_.reflex_leads()));
  }

  void watch(const Turn<Real>& turn) {
    if (replace_ != Replace::automatic) return;
    const bool regresses = admission_ == Admission::error;
    if (!regresses && !drift_.counts(class_of(turn))) return;
    if (!drift_.count(regresses ? surprise(turn) : turn.margin <= 0.0, turn.round)) return;
    errors_ = 0;
    be_unsure();
    f_.report({EventKind::drift});
  }
  // Of regression: the error, kSurprise times what it is on average being 1, and more too.
  [[nodiscard]] double surprise(const Turn<Real>& turn) const {
    return -turn.margin < kSurprise * mean_error_ ? -turn.margin / (kSurprise * mean_error_) : 1.0;
  }
  // The covariance is that of the beginning.
  void be_unsure() {
    belief_.copy(prior_, first(), straight_.tau());
    if (first() > 0) belief_.set_variance(0, straight_.tau_of_constant());
    if (form_ == Form::diagonal) straight_.reset_variances();
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

  // The variance of the noise of a row.
  [[nodiscard]] double noise(const Turn<Real>& turn) const {
    return r_ / (admission_ == Admission::error ? turn.weight : std::min(1.0, turn.weight));
  }

  // Whether x is to be stored; counts the error.
  bool wants(double margin) {
    if (admission_ == Admission::mistake) return margin <= 0.0;
    if (admission_ == Admission::margin) return true;
    const bool above = -margin > mean_error_;
    const double most = mean_error_ > 0.0 ? kMostError * mean_error_ : -margin;
    const double error = std::min(-margin, most);
    mean_error_ += (error - mean_error_) / std::min(static_cast<double>(++errors_), kErrors);
    return above;
  }

  // ---- the straight part ----------------------------------------------------------------------

  // Coordinates of the belief before those of the examples.
  [[nodiscard]] std::size_t first() const { return form_ == Form::full ? straight_.size() : 0; }
  // The full form costs at most as many coordinates as the examples have.
  [[nodiscard]] bool fits_full() const { return !turns_ || straight_.size() <= budget_; }
  // Weights cost at most about what the values of the examples do.
  [[nodiscard]] std::size_t most_features() const {
    if (features_reserved_ > 0) return features_reserved_;
    return std::max<std::size_t>(kFeatures, budget_ * widest_);
  }

  // A straight part that could hold every row exactly, and more, only learns the noise. Returns
  // whether there still is one.
  bool count(const Sample<Real>& x) {
    straight_.count(x);
    if (!turns_ || straight_.nonzeros() <= static_cast<double>(budget_)) return true;
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
    if (floor_ == 0.0) return;  // what was learned is to stay
    const double grown = r_ / (kLevel * kLevel);
    if (form_ == Form::full) belief_.add_to_first(grown);
    if (form_ == Form::diagonal) straight_.add_to_variance_of_constant(grown);
  }

  // Forgets how w and c vary with each other and with the coefs.
  void be_diagonal() {
    const std::size_t first = straight_.size();
    AlignedVector<double> variances(belief_.length(), 0.0);
    belief_.diagonal(variances.data());
    straight_.set_variances(variances.data());
    belief_.keep_from(first);
    belief_.set_capacity(budget_);
    form_ = Form::diagonal;
  }

  // Within a byte limit there are as many weights as features that examples can have.
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
    require(straight_.has_variances() == (form_ == Form::diagonal && straight_.size() > 0),
            "straight part");
    if (features_reserved_ == 0 || form_ != Form::full) belief_.set_capacity(budget_ + first());
  }

  // What the belief, with this share of the answer, and the reflex say together.
  [[nodiscard]] double coef(std::size_t i, std::size_t k, double share) const {
    if (!reflects_) return f_.coef(i, k);
    return share * f_.coef(i, k) + (1.0 - share) * reflex_.row(k)[i];
  }
  [[nodiscard]] double weight(std::size_t j, std::size_t k, double share) const {
    if (!reflects_) return straight_.weights(k)[j];
    return share * straight_.weights(k)[j] + (1.0 - share) * straight_.weights(k, 1)[j];
  }

  // ---- relevance ------------------------------------------------------------------------------

  // The gradient of what the row's class is ahead by of its best rival:
  // df/dx_j = 2 gamma sum_i a_i k_i (x_ij - x_j) + w_j
  void count_relevance(const Turn<Real>& turn) {
    if (form_ != Form::full || f_.size() == 0 || !Relevance::counts(turn.round)) return;
    const std::size_t width = static_cast<std::size_t>(straight_.last_feature()) + 1;
    if (width > Relevance::kFeatures) return;
    std::vector<double>& gradient = gradient_;
    gradient.assign(width, 0.0);
    const double scale = 2.0 * f_.kernel().gamma;
    const double share = reflects_ ? share_.of_belief() : 1.0;
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
    f_.support().add_weighed(values_, gradient);
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

  // (K + jitter I) a of both means, and the a with which that is so again.
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
        kernel_.assign(prior_.length(), 0.0);
        const double* const values = values_.data() + (set * f_.outputs() + k) * n;
        for (std::size_t p = 0; p < n; ++p) kernel_[p] = values[order_[p]];
        measure();
        double* const a = set == 0 ? f_.stored_coefs(k) : reflex_.row(k);
        for (std::size_t p = 0; p < n; ++p) a[order_[p]] = gain_[p];
      }
    }
  }

  // ---- the reflex -----------------------------------------------------------------------------

  // Whether the reflex learns from this loss.
  [[nodiscard]] bool stirs(const Turn<Real>& turn, double loss) const {
    return share_.silent() ? loss >= wanted(turn) : loss > kSmall * wanted(turn);
  }

  // The outputs of the belief, then those of the reflex. They stay with the row for `learn`.
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

  // What each of the two lacks to the margin, and where it should move: directions of their own,
  // for the best wrong class of one need not be that of the other.
  void aim(const Turn<Real>& turn, double& loss, double& other) {
    const std::size_t outputs = f_.outputs();
    const double* const parts = turn.row->parts.data();
    direction_.resize(2 * outputs);
    loss = wanted(turn) - aim_at(turn, {parts, outputs}, {direction_.data(), outputs});
    other = wanted(turn) -
            aim_at(turn, {parts + outputs, outputs}, {direction_.data() + outputs, outputs});
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
  // The update of a belief that has seen no row: v = (tau z, Kinv k), and P stays.
  void reflect(const Turn<Real>& turn, double loss) {
    measure();
    const double tau = form_ != Form::none ? straight_.tau() : 0.0;
    const double spread = reach_ + (tau > 0.0 ? tau * straight_.square(turn.x) : 0.0);
    if (!std::isfinite(spread)) return;
    const double step = loss / (spread + noise(turn)) / turn.weight;
    const double kept = 1.0 - kLost * std::min(1.0, turn.weight);
    const double* const direction = direction_.data() + f_.outputs();
    for (std::size_t k = 0; k < moves_.size(); ++k) {
      moves_[k] = step * direction[k];
      double* const a = reflex_.row(k);
      for (std::size_t i = 0; i < order_.size(); ++i) a[i] *= kept;
      if (moves_[k] == 0.0) continue;
      for (std::size_t p = 0; p < order_.size(); ++p) a[order_[p]] += moves_[k] * gain_[p];
    }
    if (tau > 0.0) straight_.shift_along(turn.x, tau, moves_, 1);
  }

  // The reflex knows that a_i = 0, as a belief that has seen no row.
  void reflect_dropped(std::size_t i) {
    prior_.column(i, gain_.data());
    for (std::size_t k = 0; k < f_.outputs(); ++k) forget(reflex_.row(k), i);
  }
  // Coefs a become those of a belief that has seen no row and knows a_i = 0; Kinv_i is in gain_.
  void forget(double* a, std::size_t i) {
    const double share = a[order_[i]] / gain_[i];
    for (std::size_t p = 0; p < order_.size(); ++p) a[order_[p]] -= share * gain_[p];
    a[order_[i]] = 0.0;
  }

  // Saved with the oldest example first.
  void visit_reflex(StateVisitor& visitor) {
    share_.visit_state(visitor);
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

  static std::size_t whole(std::size_t count) { return (count + kPanel - 1) / kPanel * kPanel; }

  // The kernel row in the order of the belief.
  void gather(const Row<Real>& row) {
    reserve();
    kernel_.assign(whole(order_.size()), 0.0);
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
    belief_.append(of_belief(gain_), delta2);
    if (index == f_.size()) {
      f_.add(turn, zeros_);
    } else {
      f_.replace(index, turn, zeros_, EventKind::none);
    }
    order_.push_back(static_cast<std::uint32_t>(index));
    if (reflects_) reflex_.widen(f_.stride());
    kernel_.resize(whole(n + 1), 0.0);
    kernel_[n] = turn.self;
    ++admissions_;
    if (!keeps_prior()) prior_.free();
  }

  // Numbers of the examples as the belief has them, after 0 for w and c.
  const double* of_belief(const AlignedVector<double>& numbers) {
    if (first() == 0) return numbers.data();
    coordinates_.assign(belief_.length(), 0.0);
    std::copy_n(numbers.begin(), order_.size(),
                coordinates_.begin() + static_cast<std::ptrdiff_t>(first()));
    return coordinates_.data();
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
    for (std::size_t k = 0; k < f_.outputs() && reflects_; ++k) {
      reflex_.row(k)[index] = reflex_.row(k)[f_.size()];
      reflex_.row(k)[f_.size()] = 0.0;
    }
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

  // Conditions on a_i = 0 for the least certain to be another, or for the oldest while the reflex
  // leads; returns the index that is free now.
  std::size_t drop() {
    const std::size_t first = this->first();
    gain_.assign(belief_.length(), 0.0);
    std::size_t i = 0;
    double variance = 0.0;
    if (!share_.reflex_leads()) {
      i = least_certain();
      variance = gain_[first + i];
    }
    const std::size_t index = order_[i];
    f_.report(EventKind::evict, index);
    if (share_.reflex_leads()) {
      // Nothing bounds a_i^2/P_ii of the oldest: by P the others could move by any amount.
      prior_.column(i, gain_.data());
      for (std::size_t k = 0; k < f_.outputs(); ++k) forget(f_.stored_coefs(k), i);
    } else {
      belief_.column(first + i, gain_.data());
      for (std::size_t k = 0; k < f_.outputs(); ++k) {
        double* a = f_.stored_coefs(k);
        const double share = a[index] / variance;
        for (std::size_t p = 0; p < order_.size(); ++p) a[order_[p]] -= share * gain_[first + p];
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

  // Place in order_ of the example with the least a_i^2/P_ii; leaves P_ii in gain_.
  std::size_t least_certain() {
    belief_.diagonal(gain_.data());
    const std::size_t first = this->first();
    std::size_t i = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const double score = squared_coef(order_[p]) / gain_[first + p];
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

  void update(const Turn<Real>& turn, double loss) {
    const double r = noise(turn);
    const double apart = form_ == Form::diagonal ? straight_.spread(turn.x) : 0.0;
    const double spread = apart + belief_.project(coordinates(turn.x), r);  // k.v
    if (!std::isfinite(spread)) return;
    // P -= c b v v' with c = 1/(K - 1) is what a sight of this variance leaves; r itself for c = 1.
    const double others = f_.outputs() > 2 ? static_cast<double>(f_.outputs() - 1) : 1.0;
    const double noise = r * others + spread * (others - 1.0);
    gain_.resize(belief_.length());
    condition(spread, noise, apart);
    const std::size_t first = this->first();
    for (std::size_t p = 0; p < order_.size(); ++p) weights_[order_[p]] = gain_[first + p];
    const double step = loss / (spread + r) / turn.weight;  // the direction has the weight in it
    const double* const direction = reflects_ ? direction_.data() : turn.direction.data();
    for (std::size_t k = 0; k < moves_.size(); ++k) moves_[k] = step * direction[k];
    f_.shift(weights_, {}, moves_);
    if (form_ == Form::full) straight_.shift(gain_.data(), moves_);
    if (form_ == Form::diagonal) straight_.condition(turn.x, r * others, moves_);
  }

  // x as the belief has it: (1, x, k), or k alone.
  const double* coordinates(const Sample<Real>& x) {
    if (first() == 0) return kernel_.data();
    of_belief(kernel_);
    straight_.each(x, [this](std::size_t j, double value) { coordinates_[j] = value; });
    return coordinates_.data();
  }

  // P loses what a sight with this noise takes, but k'Pk stays above the floor, as after a sight
  // with more noise; leaves v in gain_. `apart`: how much of k.v is not P's.
  void condition(double spread, double noise, double apart) {
    if (belief_.size() == 0) return;
    if (floor_ > 0.0 && spread <= floor_) {
      belief_.product(gain_.data());
      return;
    }
    if (floor_ > 0.0) noise = std::max(noise, spread * floor_ / (spread - floor_));
    belief_.condition(noise + apart, gain_.data());
  }

  void reserve() {
    if (weights_.size() > f_.size() || weights_.size() == budget_) return;
    const std::size_t places = next_capacity(std::max(weights_.size(), f_.size()), budget_);
    const std::size_t most = (places + kPanel - 1) / kPanel * kPanel;
    kernel_.reserve(most);
    gain_.reserve(std::max(most, gain_.capacity()));
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
  double floor_;   // kappa
  Form form_;      // of the straight part, as it is now
  bool turns_;     // to what fits
  bool reflects_;  // there is a reflex
  bool relates_;   // relevance is counted
  Relevance relevance_;
  std::vector<double> gradient_;
  std::vector<double> values_;
  Form rule_ = form_;      // none: there is no such part
  Covariance belief_;      // P
  Covariance prior_;       // Kinv
  StraightPart straight_;  // w and c
  PaddedMatrix reflex_;    // its coefs, by the index of the examples
  ReflexShare share_;
  std::vector<double> direction_;  // of the two
  std::size_t widest_ = 0;         // values other than 0 of the fullest row it has learned from
  std::size_t features_reserved_ = 0;
  std::vector<std::uint32_t> order_;  // indices of the stored examples, the oldest first
  Drift drift_;
  double mean_error_ = 0.0;  // of regression
  std::int64_t errors_ = 0;  // rounds it has seen
  std::int64_t admissions_ = 0;
  std::int64_t replacements_ = 0;
  std::int64_t raised_ = 0;            // admissions whose delta2 was below what rounding leaves
  AlignedVector<double> kernel_;       // k, in the order of the belief
  AlignedVector<double> gain_;         // v, d or P_i, likewise
  AlignedVector<double> coordinates_;  // (1, x, k), of the full form
  std::vector<UnitStep> steps_;        // of a change of units
  double reach_ = 0.0;                 // k.d
  std::vector<double> weights_;        // v in the order of the stored examples
  std::vector<double> zeros_;
  std::vector<double> moves_;
};

}  // namespace budgetron
