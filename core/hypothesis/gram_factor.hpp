// Projection onto the span of the stored examples, with a Cholesky factor of their Gram matrix that
// is updated incrementally,  K + jitter I = L L'.
//
//   project  d = (K + jitter I)^-1 k : sum_i d_i k(x_i, .) is the point of the span nearest to
//            k(x, .), and delta^2 = k(x, x) - k.d is their squared distance, clamped at 0
//   append   the x projected last becomes an example: L gets the row
//            (L^-1 k, sqrt(delta^2 + jitter))
//   remove   example i leaves and the last takes its index, as in Expansion::remove
//
// The examples have the order of the expansion. Everything is float64, whatever the rows are.
//
// Invariants: L L' = K + jitter I; the diagonal of L is positive. check_invariants() recomputes.
// Contract: append needs jitter > 0 or delta^2 above rounding (`kInSpan`), else L is singular.
// Cost: each O(n^2) for n examples, n (n + 1)/2 doubles of memory; nothing is allocated after there
// have been `capacity` examples (0: no limit).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "base/state.hpp"
#include "hypothesis/expansion.hpp"

namespace budgetron {

// delta^2 below this share of k(x, x) counts as 0: x is in the span. The rounding of the kernel
// values (1e-16, float32 1e-7) is amplified by the condition number of K that this rule allows.
template <class Real>
inline constexpr double kInSpan = std::is_same_v<Real, float> ? 1e-4 : 1e-10;

class GramFactor {
 public:
  explicit GramFactor(std::size_t capacity, double jitter = 0.0)
      : capacity_(capacity), jitter_(jitter) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double jitter() const { return jitter_; }

  // delta^2 of x with the kernel row `row` and k(x, x) = `self`.
  template <class Real>
  double project(const Real* row, double self) {
    read(row);
    return solve(self);
  }
  // The same for an x that will be appended: does not compute d and its products.
  template <class Real>
  double measure(const Real* row, double self) {
    read(row);
    return measure(self);
  }
  // For the x projected last: d, the values of sum_i d_i k(x_i, .) at every x_i, and k.d.
  [[nodiscard]] std::span<const double> weights() const { return weights_; }
  [[nodiscard]] std::span<const double> values() const { return row_; }
  [[nodiscard]] double reach() const { return reach_; }

  // Allocates memory for `capacity` examples; `removes`: also for removals.
  void reserve(bool removes);
  void append();
  void remove(std::size_t i);
  // Removes all examples, and sets the jitter.
  void clear(double jitter);
  // Recomputes the factor of all examples of f, with a jitter of kInSpan times their mean k(x, x):
  // any of them may be in the span of others. O(n^3); `row` is scratch.
  template <class Real>
  void fill(const Expansion<Real>& f, Row<Real>& row) {
    double jitter = 0.0;
    for (std::size_t i = 0; i < f.size(); ++i) jitter += f.stored_self(i);
    jitter *= kInSpan<Real> / static_cast<double>(std::max<std::size_t>(1, f.size()));
    clear(jitter);
    for (std::size_t i = 0; i < f.size(); ++i) {
      f.row_of_stored(i, row);
      measure(row.values.data(), f.stored_self(i));
      append();
    }
  }

  void visit_state(StateVisitor& visitor);
  template <class Real>
  void check_invariants(const Expansion<Real>& f) const;

 private:
  // A rotation of two columns of L, which does not change L L'.
  struct Rotation {
    double cosine = 1.0;
    double sine = 0.0;
    void turn(double& a, double& b) const {
      const double turned = cosine * a + sine * b;
      b = cosine * b - sine * a;
      a = turned;
    }
  };
  // The rotation that maps (a, b) to (|(a, b)|, 0); sets a to that length.
  static Rotation annihilate(double& a, double b);

  template <class Real>
  void read(const Real* row) {
    row_.resize(size_);
    for (std::size_t i = 0; i < size_; ++i) row_[i] = static_cast<double>(row[i]);
  }
  double measure(double self);
  double solve(double self);
  static constexpr std::size_t kTogether = 4;  // rows of L that are rotated together
  template <std::size_t rows>
  void turn_rows(std::size_t i, std::size_t j);
  [[nodiscard]] double* factor_row(std::size_t i) { return factor_.data() + i * (i + 1) / 2; }
  [[nodiscard]] const double* factor_row(std::size_t i) const {
    return factor_.data() + i * (i + 1) / 2;
  }

  std::size_t capacity_;
  double jitter_;
  std::size_t size_ = 0;
  std::vector<double> factor_;  // the rows of L, row i with i + 1 numbers
  // For the x projected last:
  std::vector<double> row_;      // k, then k - jitter d
  std::vector<double> border_;   // L^-1 k
  std::vector<double> weights_;  // d
  double reach_ = 0.0;           // k.d
  double pivot_ = 0.0;           // delta^2 + jitter
  // For a removal: the row that moves, and the rotations of its two sweeps.
  std::vector<double> moved_;
  std::vector<Rotation> first_;
  std::vector<Rotation> second_;
};

}  // namespace budgetron
