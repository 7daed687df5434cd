// A covariance that cannot lose its positive definiteness:  P = U D U',  U unit upper triangular,
// D diagonal and positive, packed, float64 whatever the rows are.
//
//   project    f = U'k for a kernel row k, and k'Pk = sum_j D_j f_j^2
//   product    P k = U (D f)
//   condition  P <- P - Pk (Pk)'/(k'Pk + r), the covariance of a after an observation of k.a with
//              noise variance r. With alpha_0 = r, alpha_j = alpha_j-1 + D_j f_j^2 and
//              g_j = sum_{i<j} D_i f_i U_i:
//                D_j <- D_j alpha_j-1/alpha_j ;   U_j <- U_j - (f_j/alpha_j-1) g_j
//              (Bierman 1977, "Factorization Methods for Discrete Sequential Estimation", ch. V.3)
//   append     P <- [[P + d d'/delta2, -d/delta2], [-d'/delta2, 1/delta2]]: U gets the column
//              (-d, 1), D the number 1/delta2, and nothing else changes
//   insert     coordinates that do not vary with any other get rows and columns of their own
//   keep_from  the covariance of the later coordinates alone: rows and columns of U and D from
//   there change     coordinate i becomes ratio_i times itself, and coordinate 0 gets shift_i times
//   what it
//              was: rows of U are scaled and added to the first, columns divided by their ratio
//   remove     a_i is known to be 0 and leaves: conditioning on e_i with r = 0, after which D_i = 0
//              and row i is 0, exactly so by leaving both out. Later columns move up by one.
//
// Why not P itself: subtracting rank-one matrices from P rounds, the small eigenvalues sink below
// the rounding of the large ones, and some day k'Pk is negative. Here every D_j is multiplied by a
// number of (0, 1], so that P stays positive definite whatever is rounded: there is nothing to
// repair. Memory and passes are those of P packed: n (n + 1)/2 numbers (and half a panel), one read
// for `project`, one read and write for `condition`.
//
// Invariants: size() numbers D_j, positive and finite; panels as packed_triangle.hpp says.
// Cost: append O(n), the others O(n^2). Nothing is allocated once there
// has been one example: memory for `capacity` is taken then.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/state.hpp"
#include "hypothesis/unit_change.hpp"
#include "simd/packed_triangle.hpp"

namespace budgetron {

class Covariance {
 public:
  explicit Covariance(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  // Length of every vector that is handed over: size() in whole panels, zeros at the end.
  [[nodiscard]] std::size_t length() const { return kPanel * panels(); }

  // k'Pk. It will be conditioned with r, if at all: another r is summed up again then.
  double project(const double* k, double r = 0.0);
  // Of the k projected last:
  void product(double* out);              // P k
  void condition(double r, double* out);  // and P k as it was
  [[nodiscard]] double projected(std::size_t j) const { return projected_[j]; }

  void append(const double* d, double delta2);
  void remove(std::size_t i);
  void insert(std::size_t at, std::size_t count, double variance);
  void set_variance(std::size_t i, double variance);  // of one that varies with no other
  void add_to_first(double variance);                 // to P_00
  void keep_from(std::size_t first);
  void change(std::span<const UnitStep> steps);  // of the first coordinates
  void diagonal(double* out) const;              // P_ii of every i
  void column(std::size_t i, double* out);       // P e_i

  void reserve();  // the memory for `capacity`, at once
  // P <- diag(variance I, other's P), `first` of the first.
  void copy(const Covariance& other, std::size_t first = 0, double variance = 0.0);
  void set_capacity(std::size_t capacity);  // at least size()
  void free();                              // no examples, no memory

  // Saved as n (n + 1)/2 numbers: column j of U above the diagonal, then D_j.
  void visit_state(StateVisitor& visitor, const std::string& name);
  void check_invariants() const;

 private:
  [[nodiscard]] std::size_t panels() const { return (size_ + kPanel - 1) / kPanel; }
  [[nodiscard]] std::size_t start(std::size_t j) const {
    return panel_numbers(j / kPanel) + (j % kPanel) * height(j);
  }
  [[nodiscard]] static std::size_t height(std::size_t j) { return kPanel * (j / kPanel + 1); }
  void resize(std::size_t size);
  void set_unit_column(std::size_t j, double variance);
  // D_j f_j^2 in `energies_`.
  void scale_by_variances();
  // alpha_j-1 and the last alpha_j for the columns from `first` on, beginning with alpha.
  void add_up(std::size_t first, double alpha);
  // D and -f_j/alpha_j-1 for the columns from `first` on.
  void shrink_variances(std::size_t first);
  // f <- U'e_i, row i of U.
  void project_unit(std::size_t i);

  std::size_t capacity_;
  std::size_t size_ = 0;
  AlignedVector<double> columns_;    // U
  AlignedVector<double> variances_;  // D
  AlignedVector<double> projected_;  // f
  AlignedVector<double> weights_;    // D f
  AlignedVector<double> energies_;   // D f^2
  AlignedVector<double> alphas_;     // alpha_j-1, and the last alpha_j
  AlignedVector<double> slopes_;     // -f_j/alpha_j-1
};

}  // namespace budgetron
