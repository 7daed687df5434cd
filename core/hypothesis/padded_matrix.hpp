// A float64 matrix whose rows are padded with zeros to whole vectors, so that the row routines
// (kernel_row.hpp) can run along them: the weights of a feature map, or sums of coefs, one row per
// output.
//
// It is saved without the padding and column by column, like the arrays of the NumPy pages: shape
// (columns, rows).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/state.hpp"
#include "hypothesis/class_change.hpp"

namespace budgetron {

class PaddedMatrix {
 public:
  PaddedMatrix(std::size_t rows, std::size_t columns)
      : rows_(rows), stride_(padded(columns)), values_(rows * stride_, 0.0) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] double* row(std::size_t i) { return values_.data() + i * stride_; }
  [[nodiscard]] const double* row(std::size_t i) const { return values_.data() + i * stride_; }

  void fill(double value) { std::fill(values_.begin(), values_.end(), value); }
  void multiply(double factor) {
    for (double& value : values_) value *= factor;
  }
  void swap(PaddedMatrix& other) {
    std::swap(rows_, other.rows_);
    std::swap(stride_, other.stride_);
    values_.swap(other.values_);
  }

  // Makes at least this many columns; new ones are 0.
  void widen(std::size_t columns) {
    if (columns <= stride_) return;
    PaddedMatrix wider(rows_, std::max(columns, 2 * stride_));
    for (std::size_t i = 0; i < rows_; ++i) std::copy_n(row(i), stride_, wider.row(i));
    swap(wider);
  }

  // Rows are outputs; this applies the change when a class joins.
  void rearrange(const ClassChange& change) {
    rearrange_outputs(values_, stride_, change);
    rows_ = ClassChange::outputs(change.after);
  }

  // Appends `rows` x `columns` numbers from column `first` on to `to`, column by column; `unpack`
  // reads them back from `from`.
  void pack(std::size_t rows, std::size_t first, std::size_t columns,
            std::vector<double>& to) const {
    for (std::size_t j = first; j < first + columns; ++j) {
      for (std::size_t i = 0; i < rows; ++i) to.push_back(row(i)[j]);
    }
  }
  void unpack(std::size_t rows, std::size_t first, std::size_t columns, const double* from) {
    for (std::size_t j = first; j < first + columns; ++j) {
      for (std::size_t i = 0; i < rows; ++i) row(i)[j] = *from++;
    }
  }

  // Saves and loads `rows` x `columns` numbers; the owner knows both.
  void visit_state(StateVisitor& visitor, const std::string& name, std::size_t rows,
                   std::size_t columns) {
    if (visitor.mode() == StateVisitor::Mode::count) {
      visitor.scratch(values_);
      return;
    }
    std::vector<double> numbers;
    if (visitor.mode() == StateVisitor::Mode::save) pack(rows, 0, columns, numbers);
    visitor.field(name, numbers);
    if (visitor.mode() == StateVisitor::Mode::save) return;
    require(numbers.size() == rows * columns && all_finite(numbers), name);
    *this = PaddedMatrix(std::max(rows, rows_), std::max(columns, stride_));
    unpack(rows, 0, columns, numbers.data());
  }

 private:
  std::size_t rows_;
  std::size_t stride_;
  AlignedVector<double> values_;
};

}  // namespace budgetron
