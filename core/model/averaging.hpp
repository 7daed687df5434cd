// The mean of all hypotheses of a learner so far; `predict` may answer with it.
//
//   mean    (f_1 + ... + f_T)/T, f_t the hypothesis before round t
//   suffix  the mean of about the last half: two sums, of the rounds since the last power of two
//           and of those between the two powers before, so that no horizon is needed
//
// f_t is linear in its coefs (Learner::coef_view), so the mean is f with the mean coefs. When an
// example leaves, its sum is dropped: with a budget this is the mean over the stored examples. For
// learners that drop nothing (unbounded ones, AVM, FOGD) it is the exact mean. A merged example
// starts a new sum; if coefs are added to others (Learner::united), so are their sums.
//
// Cost: O(B K) per round, and O(B) per stored example that moved. Memory: two sums of B K float64
// each, and a third to rearrange them. In regression the centre of the targets, which is added to
// f_t (target_units.hpp), is averaged too.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hypothesis/padded_matrix.hpp"
#include "learners/learner.hpp"

namespace budgetron {

template <class Real>
class Averaging {
 public:
  Averaging(const std::string& kind, std::size_t outputs)
      : suffix_(kind == "suffix"), older_(outputs, 0), newer_(outputs, 0), moved_(outputs, 0) {
    if (!suffix_ && kind != "mean") {
      throw std::invalid_argument("no average is called '" + kind + "'");
    }
  }

  // Counts f_t before round t = rounds + 1 changes it, and the constant added to it.
  void count(const Learner<Real>& learner, double constant = 0.0) {
    const CoefView view = learner.coef_view();
    follow(view);
    const auto t = static_cast<std::uint64_t>(++rounds_);
    if (suffix_ && std::has_single_bit(t)) {
      older_.swap(newer_);
      newer_.fill(0.0);
      constants_.older = std::exchange(constants_.newer, 0.0);
    }
    constants_.newer += constant;
    for (std::size_t k = 0; k < newer_.rows(); ++k) {
      const double* a = view.coefs + k * view.stride;
      double* sum = newer_.row(k);
      for (std::size_t i = 0; i < view.count; ++i) sum[i] += view.factor * a[i];
    }
  }

  // All f_t become `factor` f_t.
  void scale(double factor) {
    older_.multiply(factor);
    newer_.multiply(factor);
  }
  // The mean of the constants added to f_t.
  [[nodiscard]] double constant() const {
    return (constants_.older + constants_.newer) / averaged_rounds();
  }

  // Call after a round or a change of units: moves the sums to where the coefs are now.
  void follow(const Learner<Real>& learner) {
    const std::span<const std::uint32_t> united = learner.united();
    for (std::size_t i = 0; i < std::min(count_, united.size()); ++i) {
      if (united[i] == i) continue;
      for (PaddedMatrix* sums : {&older_, &newer_}) {
        for (std::size_t k = 0; k < sums->rows(); ++k) {
          sums->row(k)[united[i]] += sums->row(k)[i];
          sums->row(k)[i] = 0.0;
        }
      }
    }
    follow(learner.coef_view());
  }

  // The mean's decision on the row that `learner` has just decided; before any round, the learner's
  // own.
  void decide(const Learner<Real>& learner, const Row<Real>& row, std::span<double> outputs) const {
    if (rounds_ == 0) return;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      outputs[k] = (learner.decide_with(row, older_.row(k), padded(count_)) +
                    learner.decide_with(row, newer_.row(k), padded(count_))) /
                   averaged_rounds();
    }
  }

  // Whether there is one sum per coef of the learner, as after every round.
  [[nodiscard]] bool fits(const Learner<Real>& learner) const {
    const CoefView view = learner.coef_view();
    if (rounds_ == 0) return count_ == 0;
    return count_ == view.count &&
           (view.ids == nullptr
                ? ids_.empty()
                : std::equal(ids_.begin(), ids_.end(), view.ids, view.ids + view.count));
  }
  [[nodiscard]] bool any() const { return rounds_ > 0; }
  // The stored examples with their coefs in the mean; empty if nothing is stored.
  [[nodiscard]] std::vector<Share<Real>> shares(const Learner<Real>& learner) const {
    if (learner.expansion() == nullptr) return {};
    return {{learner.expansion(), [this](std::size_t i, std::size_t k) { return coef(i, k); }}};
  }
  // Coef i of output k in the mean, with its factor.
  [[nodiscard]] double coef(std::size_t i, std::size_t k) const {
    return (older_.row(k)[i] + newer_.row(k)[i]) / averaged_rounds();
  }

  // Allocates memory for so many coefs, and for ids if coefs may move.
  void reserve(std::size_t coefs, bool moving) {
    for (PaddedMatrix* sums : {&older_, &newer_}) sums->widen(coefs);
    if (!moving) return;
    moved_.widen(coefs);
    ids_.reserve(coefs);
    origins_.reserve(coefs);
  }

  // The learner starts again.
  void restart(std::size_t outputs) { *this = Averaging(suffix_ ? "suffix" : "mean", outputs); }

  void rearrange(const ClassChange& change) {
    older_.rearrange(change);
    newer_.rearrange(change);
    moved_.rearrange(change);
  }

  // The sums of the constants: a separate part, because classification has none.
  struct Constants {
    double older = 0.0;
    double newer = 0.0;

    void visit_state(StateVisitor& visitor) {
      visitor.field("older", older);
      visitor.field("newer", newer);
      if (visitor.loading()) require(std::isfinite(older) && std::isfinite(newer), "averages");
    }
  };
  [[nodiscard]] Constants& constants() { return constants_; }

  void visit_state(StateVisitor& visitor) {
    visitor.object(sizeof(*this));
    visitor.field("rounds", rounds_);
    visitor.field("count", count_);
    visitor.field("ids", ids_);
    older_.visit_state(visitor, "older_sum", older_.rows(), count_);
    newer_.visit_state(visitor, "newer_sum", newer_.rows(), count_);
    if (visitor.loading()) require(rounds_ >= 0, "averages");
    visitor.scratch(origins_);
    if (visitor.mode() == StateVisitor::Mode::count) moved_.visit_state(visitor, "", 0, 0);
  }

 private:
  static constexpr std::uint32_t kNewCoef = 0xFFFFFFFFu;  // in place of an origin

  // Puts the sums in the order of the coefs; new coefs start at 0.
  void follow(const CoefView& view) {
    older_.widen(view.count);
    newer_.widen(view.count);
    if (view.ids != nullptr) {
      const bool same = count_ <= view.count && std::equal(ids_.begin(), ids_.end(), view.ids);
      if (!same) rearrange(view);
      ids_.assign(view.ids, view.ids + view.count);
    }
    count_ = view.count;
  }

  void rearrange(const CoefView& view) {
    find_origins(view);
    moved_.widen(newer_.stride());
    for (PaddedMatrix* sums : {&older_, &newer_}) {
      moved_.fill(0.0);
      for (std::size_t k = 0; k < sums->rows(); ++k) {
        for (std::size_t i = 0; i < view.count; ++i) {
          if (origins_[i] != kNewCoef) moved_.row(k)[i] = sums->row(k)[origins_[i]];
        }
      }
      sums->swap(moved_);
    }
  }

  // Finds the old index of each coef: the same index, or the one with its id. (A merge makes two
  // new coefs in one round; at most one of them has moved.)
  void find_origins(const CoefView& view) {
    origins_.assign(view.count, kNewCoef);
    for (std::size_t i = 0; i < std::min(count_, view.count); ++i) {
      if (ids_[i] == view.ids[i]) {
        origins_[i] = static_cast<std::uint32_t>(i);
        ids_[i] = -1;  // taken
      }
    }
    for (std::size_t i = 0; i < view.count; ++i) {
      if (origins_[i] != kNewCoef) continue;
      const auto found = std::find(ids_.begin(), ids_.end(), view.ids[i]);
      if (found == ids_.end()) continue;
      origins_[i] = static_cast<std::uint32_t>(found - ids_.begin());
      *found = -1;
    }
  }

  // How many f_t the two sums hold: all, or those since the power of two before the last.
  [[nodiscard]] double averaged_rounds() const {
    if (!suffix_) return static_cast<double>(rounds_);
    const auto last = std::bit_floor(static_cast<std::uint64_t>(rounds_));
    const std::uint64_t first = std::max<std::uint64_t>(1, last / 2);
    return static_cast<double>(static_cast<std::uint64_t>(rounds_) - first + 1);
  }

  bool suffix_;
  std::int64_t rounds_ = 0;
  std::size_t count_ = 0;               // coefs summed
  Constants constants_;                 // their sums
  std::vector<std::int64_t> ids_;       // of the coefs, if they may move
  PaddedMatrix older_;                  // sums of the coefs of the averaged f_t: before ...
  PaddedMatrix newer_;                  // ... and since the last restart; outputs x coefs
  PaddedMatrix moved_;                  // scratch to rearrange them
  std::vector<std::uint32_t> origins_;  // per coef: the old place of its sums
};

}  // namespace budgetron
