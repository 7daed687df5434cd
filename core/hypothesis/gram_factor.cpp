#include "hypothesis/gram_factor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/linalg.hpp"
#include "hypothesis/capacity.hpp"

namespace budgetron {

double GramFactor::measure(double self) {
  border_.assign(row_.begin(), row_.end());
  lapack::packed_solve(size_, factor_.data(), border_.data(), false);
  double squares = 0.0;  // k (K + jitter I)^-1 k = |L^-1 k|^2
  for (const double value : border_) squares += value * value;
  const double distance = std::max(0.0, self - squares);
  reach_ = squares;
  pivot_ = distance + jitter_;
  return distance;
}

double GramFactor::solve(double self) {
  const double distance = measure(self);
  weights_.assign(border_.begin(), border_.end());
  lapack::packed_solve(size_, factor_.data(), weights_.data(), true);

  if (jitter_ > 0.0) {
    // (K d)_i = k_i - jitter d_i
    for (std::size_t i = 0; i < size_; ++i) row_[i] -= jitter_ * weights_[i];
  }
  return distance;
}

void GramFactor::reserve(bool removes) {
  factor_.reserve(capacity_ * (capacity_ + 1) / 2);
  for (auto* numbers : {&row_, &border_, &weights_}) numbers->reserve(capacity_);
  if (!removes) return;
  moved_.reserve(capacity_);
  first_.reserve(capacity_);
  second_.reserve(capacity_);
}

void GramFactor::append() {
  const std::size_t needed = (size_ + 1) * (size_ + 2) / 2;
  if (factor_.capacity() < needed && size_ < capacity_ && capacity_ <= kAtOnce) {
    factor_.reserve(capacity_ * (capacity_ + 1) / 2);
  }
  factor_.resize(needed);
  double* row = factor_row(size_);
  std::copy(border_.begin(), border_.end(), row);
  row[size_] = std::sqrt(pivot_);
  ++size_;
}

GramFactor::Rotation GramFactor::annihilate(double& a, double b) {
  const double length = std::hypot(a, b);
  const Rotation rotation{a / length, b / length};
  a = length;
  return rotation;
}

// Applies both sweeps of a removal to the rows j, j + 1, ... together: a rotation waits for the one
// before it in its row, and meanwhile other rows proceed.
template <std::size_t rows>
void GramFactor::turn_rows(std::size_t i, std::size_t j) {
  double* row[rows];
  double beyond[rows] = {};  // column j + r + 1 of row j + r
  for (std::size_t r = 0; r < rows; ++r) {
    row[r] = factor_row(j + r);
    first_[j + r + 1].turn(row[r][j + r], beyond[r]);
    for (std::size_t c = j + r; c > j; --c) first_[c].turn(row[r][c - 1], row[r][c]);
  }
  for (std::size_t c = j; c > i; --c) {
    for (std::size_t r = 0; r < rows; ++r) first_[c].turn(row[r][c - 1], row[r][c]);
  }
  for (std::size_t c = i + 1; c < j; ++c) {
    for (std::size_t r = 0; r < rows; ++r) second_[c].turn(row[r][c], row[r][c + 1]);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = j; c < j + r; ++c) second_[c].turn(row[r][c], row[r][c + 1]);
    second_[j + r] = annihilate(row[r][j + r], beyond[r]);
  }
}

// Put the last row of L in the place of row i: the product with its transpose is the new matrix,
// but row i is too long. Rotating its columns c - 1 and c, c from the last down to i + 1, shortens
// it, and each row j below gets one number beyond its diagonal. Rotating columns j and j + 1, j
// upwards, removes those numbers again (Golub & Van Loan, Matrix Computations).
void GramFactor::remove(std::size_t i) {
  const std::size_t last = size_ - 1;
  if (i != last) {
    moved_.assign(factor_row(last), factor_row(last) + size_);
    first_.resize(size_);   // [c] rotates columns c - 1 and c
    second_.resize(size_);  // [j] rotates columns j and j + 1
    for (std::size_t c = last; c > i; --c) first_[c] = annihilate(moved_[c - 1], moved_[c]);
    std::copy_n(moved_.begin(), i + 1, factor_row(i));
    std::size_t j = i + 1;
    for (; j + kTogether <= last; j += kTogether) turn_rows<kTogether>(i, j);
    for (; j < last; ++j) turn_rows<1>(i, j);
  }
  factor_.resize(last * (last + 1) / 2);
  size_ = last;
}

void GramFactor::clear(double jitter) {
  factor_.clear();
  size_ = 0;
  jitter_ = jitter;
}

void GramFactor::visit_state(StateVisitor& visitor) {
  visitor.field("size", size_);
  visitor.field("jitter", jitter_);
  visitor.field("factor", factor_);
  // size_ is compared first, so that its square cannot overflow.
  require(size_ <= factor_.size() && factor_.size() == size_ * (size_ + 1) / 2, "projection");
  visitor.scratch(row_);
  visitor.scratch(border_);
  visitor.scratch(weights_);
  visitor.scratch(moved_);
  visitor.scratch(first_);
  visitor.scratch(second_);
}

template <class Real>
void GramFactor::check_invariants(const Expansion<Real>& f) const {
  if (size_ != f.size()) throw std::logic_error("projection invariant broken: size");
  Row<Real> fresh;
  for (std::size_t i = 0; i < size_; ++i) {
    f.row_of_stored(i, fresh);
    const double* p = factor_row(i);
    if (!(p[i] > 0.0)) throw std::logic_error("projection invariant broken: diagonal");
    for (std::size_t j = 0; j <= i; ++j) {
      const double* q = factor_row(j);
      double product = 0.0;
      for (std::size_t c = 0; c <= j; ++c) product += p[c] * q[c];
      const double wanted = static_cast<double>(fresh.values[j]) + (i == j ? jitter_ : 0.0);
      const double scale = std::sqrt(f.stored_self(i) * f.stored_self(j)) + 1e-300;
      const double tolerance =
          1e3 * static_cast<double>(std::numeric_limits<Real>::epsilon()) * scale;
      if (std::abs(product - wanted) > tolerance) {
        throw std::logic_error("projection invariant broken: the factor is stale");
      }
    }
  }
}

template void GramFactor::check_invariants<float>(const Expansion<float>&) const;
template void GramFactor::check_invariants<double>(const Expansion<double>&) const;

}  // namespace budgetron
