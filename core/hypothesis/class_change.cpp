#include "hypothesis/class_change.hpp"

namespace budgetron {
namespace {

// Inserts a row of zeros at `place`; the rows behind it move. A large matrix gets spare rows.
void insert_output(AlignedVector<double>& matrix, std::size_t stride, std::size_t place) {
  constexpr std::size_t many = 256;  // rows
  const std::size_t size = matrix.size() + stride;
  if (size > matrix.capacity()) {
    matrix.reserve(matrix.size() < many * stride ? size : size + size / 4);
  }
  matrix.resize(size);
  const auto from = matrix.begin() + static_cast<std::ptrdiff_t>(place * stride);
  std::move_backward(from, matrix.end() - static_cast<std::ptrdiff_t>(stride), matrix.end());
  std::fill_n(from, stride, 0.0);
}

}  // namespace

// Where a sign changes, zeros stay +0, as in a loaded matrix where nothing is stored yet.
void rearrange_outputs(AlignedVector<double>& matrix, std::size_t stride,
                       const ClassChange& change) {
  const std::size_t before = ClassChange::outputs(change.before);
  const std::size_t after = ClassChange::outputs(change.after);
  if (after == 1) {
    // From one class (or none) to two: f is positive for class 1. The class that was alone was
    // learned as class 1; if it sorts first, its sign changes.
    if (change.before == 1 && change.after == 2 && change.order[0] == 0) {
      for (double& value : matrix) value = 0.0 - value;
    }
    return;
  }
  if (before > 1 && change.one_joins()) {
    insert_output(matrix, stride, change.first_new());
    return;
  }
  AlignedVector<double> moved(after * stride, 0.0);
  for (std::size_t k = 0; k < after; ++k) {
    const int from = change.order[k];
    if (from < 0) continue;
    for (std::size_t i = 0; i < stride; ++i) {
      if (before > 1) {
        moved[k * stride + i] = matrix[static_cast<std::size_t>(from) * stride + i];
      } else {
        // f = f_1 - f_0 splits into halves, exactly.
        moved[k * stride + i] = from == 1 ? 0.5 * matrix[i] : 0.0 - 0.5 * matrix[i];
      }
    }
  }
  matrix.swap(moved);
}

}  // namespace budgetron
