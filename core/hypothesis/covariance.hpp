// A covariance that cannot lose its positive definiteness:  P = U D U',  U unit upper triangular, D
// diagonal and positive, packed. U has the type of the rows, Number; D and the sums whose
// differences are used are float64 (docs/develop/decisions/0061).
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
//   insert     new coordinates, independent of all others, get rows and columns of their own
//   keep_from  the covariance of the later coordinates alone: rows and columns of U, D from there
//   change     coordinate i becomes ratio_i times itself, and coordinate 0 gets shift_i times its
//              old value: rows of U are scaled and added to the first, columns divided by ratios
//   remove     a_i is known to be 0 and leaves: conditioning on e_i with r = 0. Then D_i = 0 and
//              row i is 0, so both are left out, exactly. Later columns move up by one.
//
// Why not P itself: subtracting rank-one matrices from P rounds, the small eigenvalues sink below
// the rounding of the large ones, and eventually k'Pk becomes negative. Here every D_j is
// multiplied by a number in (0, 1], so P stays positive definite under any rounding: there is
// nothing to repair. Memory and passes are those of P packed: n (n + 1)/2 numbers (and half a
// panel), one read for `project`, one read and write for `condition`.
//
// Invariants: size() numbers D_j, positive and finite; panels as packed_triangle.hpp says.
// Cost: append O(n), the others O(n^2). The first example allocates memory for `capacity`; nothing
// is allocated after it.
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

template <class Number>
class Covariance {
 public:
  explicit Covariance(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  // The length of every vector passed in: size() in whole panels, zeros at the end.
  [[nodiscard]] std::size_t length() const { return panel * panels(); }
  [[nodiscard]] static std::size_t whole(std::size_t size) {  // size in whole panels, in numbers
    return (size + panel - 1) / panel * panel;
  }

  // k'Pk. `r` is the noise of the conditioning to come, if any; another r costs one more sum.
  double project(const Number* k, double r = 0.0);
  // The same without changing the object; `scratch` has length() numbers.
  [[nodiscard]] double variance(const Number* k, Number* scratch) const;
  // The same; overwrites what was projected last.
  [[nodiscard]] double variance(const Number* k) { return variance(k, projected_.data()); }
  // For the k projected last:
  void product(Number* out);              // P k
  void condition(double r, Number* out);  // returns P k as it was before

  void append(const Number* d, double delta2);
  void remove(std::size_t i);
  void insert(std::size_t at, std::size_t count, double variance);
  // Of a coordinate that is independent of all others.
  void set_variance(std::size_t i, double variance);
  void add_to_first(double variance);  // to P_00
  void keep_from(std::size_t first);
  void change(std::span<const UnitStep> steps);  // of the first coordinates
  void diagonal(Number* out) const;              // P_ii for every i
  void column(std::size_t i, Number* out);       // P e_i

  void reserve();  // allocates memory for `capacity` at once
  // P <- diag(variance I, P of other); the first block has `first` coordinates.
  void copy(const Covariance& other, std::size_t first = 0, double variance = 0.0);
  void set_capacity(std::size_t capacity);  // at least size()
  void free();                              // removes all examples and frees the memory

  // Saved as n (n + 1)/2 numbers: column j of U above the diagonal, then D_j.
  void visit_state(StateVisitor& visitor, const std::string& name);
  void check_invariants() const;

 private:
  static constexpr std::size_t panel = kPanel<Number>;

  [[nodiscard]] std::size_t panels() const { return (size_ + panel - 1) / panel; }
  [[nodiscard]] std::size_t start(std::size_t j) const {
    return panel_numbers<Number>(j / panel) + (j % panel) * height(j);
  }
  [[nodiscard]] static std::size_t height(std::size_t j) { return panel * (j / panel + 1); }
  void resize(std::size_t size);
  void set_unit_column(std::size_t j, double variance);
  void clear_from(std::size_t first);
  // Fills `energies_` with D_j f_j^2.
  void scale_by_variances();
  // Sums alpha_j-1, and the last alpha_j, for the columns from `first` on, starting with alpha.
  void add_up(std::size_t first, double alpha);
  // Updates D, and sets -f_j/alpha_j-1, for the columns from `first` on.
  void shrink_variances(std::size_t first);
  // f <- U'e_i, row i of U.
  void project_unit(std::size_t i);

  std::size_t capacity_;
  std::size_t size_ = 0;
  AlignedVector<Number> columns_;    // U
  AlignedVector<double> variances_;  // D
  AlignedVector<Number> projected_;  // f
  AlignedVector<Number> weights_;    // D f
  AlignedVector<double> energies_;   // D f^2
  AlignedVector<double> alphas_;     // alpha_j-1, and the last alpha_j
  AlignedVector<Number> slopes_;     // -f_j/alpha_j-1
};

extern template class Covariance<float>;
extern template class Covariance<double>;

}  // namespace budgetron
