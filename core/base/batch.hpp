// The rows of one call and what is to be learned from them, seen through pointers.
//
// Rows are dense (row-major) or CSR with sorted indices. A batch owns nothing: its maker keeps the
// arrays while the core reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/sample.hpp"

namespace budgetron {

// One row with its target.
template <class Real>
struct LabelledRow {
  Sample<Real> x;
  double target = 0.0;
  double weight = 1.0;
  bool unseen = false;       // its class has just joined: no prediction of it could be right
  bool surveyed = false;     // it was part of the first pass of `fit` (Model::survey)
  bool again = false;        // it was learned before, in an earlier epoch
  bool gaps = true;          // values may be missing, NaN; false: none is
  double* chance = nullptr;  // takes the probability its class had before; null: not asked for
};

template <class Real>
struct Batch {
  std::size_t count = 0;
  const Real* values = nullptr;
  std::size_t width = 0;                  // dense
  const std::int64_t* ends = nullptr;     // CSR: indptr, count + 1 numbers
  const std::int32_t* indices = nullptr;  // CSR

  // For learning only.
  const double* targets = nullptr;           // one per row
  const double* weights = nullptr;           // one per row; null: all 1
  std::vector<double>* decisions = nullptr;  // takes the outputs of every row; null: not recorded
  // Takes the probability that each row's own class had before the row was learned. Left as it is
  // where there is none: the class has just joined or is alone, the row has weight 0 or was learned
  // before. Null: not asked for.
  double* chances = nullptr;
  bool unseen = false;    // the class of the first row has just joined
  bool calibrate = true;  // rows not learned before: their decisions may fit probabilities
  bool surveyed = false;  // the rows were part of the first pass of `fit` (Model::survey)
  bool gaps = true;       // values may be missing, NaN; false: none is

  [[nodiscard]] bool dense() const { return ends == nullptr; }
  [[nodiscard]] Sample<Real> operator[](std::size_t i) const {
    if (dense()) return {values + i * width, nullptr, width};
    const auto begin = static_cast<std::size_t>(ends[i]);
    const auto end = static_cast<std::size_t>(ends[i + 1]);
    return {values + begin, indices + begin, end - begin};
  }
  [[nodiscard]] LabelledRow<Real> labelled(std::size_t i) const {
    const bool joined = unseen && i == 0;
    return {(*this)[i],
            targets[i],
            weights != nullptr ? weights[i] : 1.0,
            joined,
            surveyed,
            !calibrate,
            gaps,
            chances != nullptr && !joined ? chances + i : nullptr};
  }
  // The values of all rows as one.
  [[nodiscard]] Sample<Real> all() const {
    if (dense()) return {values, nullptr, count * width};
    const auto begin = static_cast<std::size_t>(ends[0]);
    return {values + begin, indices + begin, static_cast<std::size_t>(ends[count]) - begin};
  }
  // Rows [begin, end), to be learned as the whole is.
  [[nodiscard]] Batch piece(std::size_t begin, std::size_t end) const {
    Batch rows = *this;
    rows.count = end - begin;
    if (dense()) {
      rows.values += begin * width;
    } else {
      rows.ends += begin;
    }
    if (targets != nullptr) rows.targets += begin;
    if (weights != nullptr) rows.weights += begin;
    if (chances != nullptr) rows.chances += begin;
    rows.unseen = unseen && begin == 0;
    return rows;
  }
};

}  // namespace budgetron
