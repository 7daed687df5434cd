// The rows of one call, with their targets and weights, seen through pointers.
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
  bool unseen = false;    // its class has just joined, so no prediction could name it
  bool surveyed = false;  // it was part of the first pass of `fit` (Model::survey)
  bool again = false;     // it was learned before, in an earlier epoch
  bool gaps = true;       // values may be missing (NaN); false: no value is
  // Output: the probability of its class before the row is learned; null: not wanted.
  double* chance = nullptr;
  // Output: its interval or prediction set, two numbers (Batch); null: not wanted.
  double* span = nullptr;
  double coverage = 0.9;  // of the interval or prediction set
};

template <class Real>
struct Batch {
  std::size_t count = 0;
  const Real* values = nullptr;
  std::size_t width = 0;                  // dense: values per row
  const std::int64_t* ends = nullptr;     // CSR: the indptr array, count + 1 numbers
  const std::int32_t* indices = nullptr;  // CSR: the feature of each value

  // The fields below are for learning only.
  const double* targets = nullptr;           // one per row
  const double* weights = nullptr;           // one per row; null: all weights are 1
  std::vector<double>* decisions = nullptr;  // output: the decisions of every row; null: not wanted
  // Output: the probability of each row's own class before the row is learned. An entry is not
  // written if there is no probability: the class has just joined or is the only one, the row has
  // weight 0, or it was learned before. Null: not wanted.
  double* chances = nullptr;
  // Output: two numbers per row, from before the row is learned. Regression: the ends of its
  // interval. Classification: the size of its prediction set, and 1 if the set has the row's own
  // class, else 0. Entries are not written if there is no interval or set. Null: not wanted.
  double* spans = nullptr;
  double coverage = 0.9;  // of intervals and prediction sets
  bool unseen = false;    // the class of the first row has just joined
  // The rows were not learned before: their decisions may calibrate probabilities.
  bool calibrate = true;
  bool surveyed = false;  // the rows were part of the first pass of `fit` (Model::survey)
  bool gaps = true;       // values may be missing (NaN); false: no value is

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
            chances != nullptr && !joined ? chances + i : nullptr,
            spans != nullptr ? spans + 2 * i : nullptr,
            coverage};
  }
  // The values of all rows as one sample.
  [[nodiscard]] Sample<Real> all() const {
    if (dense()) return {values, nullptr, count * width};
    const auto begin = static_cast<std::size_t>(ends[0]);
    return {values + begin, indices + begin, static_cast<std::size_t>(ends[count]) - begin};
  }
  // Rows [begin, end), with the settings of the whole batch.
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
    if (spans != nullptr) rows.spans += 2 * begin;
    rows.unseen = unseen && begin == 0;
    return rows;
  }
};

}  // namespace budgetron
