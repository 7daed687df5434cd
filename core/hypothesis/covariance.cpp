#include "hypothesis/covariance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "storage/byte_limit.hpp"

namespace budgetron {
namespace {

// A variance that underflows would be 0, and P singular: it stops here.
constexpr double kLeastVariance = std::numeric_limits<double>::min();

}  // namespace

void Covariance::reserve() {
  const std::size_t most = (capacity_ + kPanel - 1) / kPanel;
  columns_.reserve(panel_numbers(most));
  for (auto* vector : {&variances_, &projected_, &weights_, &energies_, &slopes_}) {
    vector->reserve(kPanel * most);
  }
  alphas_.reserve(kPanel * most + 1);
}

void Covariance::resize(std::size_t size) {
  if (columns_.capacity() == 0 && capacity_ <= kAtOnce) reserve();
  size_ = size;
  columns_.resize(panel_numbers(panels()), 0.0);
  for (auto* vector : {&variances_, &projected_, &weights_, &energies_, &slopes_}) {
    vector->resize(length(), 0.0);
  }
  alphas_.resize(length() + 1, 0.0);
}

void Covariance::scale_by_variances() {
  triangle_functions().scale_by_variances(size_, projected_.data(), variances_.data(),
                                          weights_.data(), energies_.data());
}

double Covariance::project(const double* k, double r) {
  if (size_ == 0) return 0.0;
  triangle_functions().project(columns_.data(), panels(), k, projected_.data());
  scale_by_variances();
  // Each sum waits for its last term: the two run beside each other.
  double energy = 0.0;
  double alpha = r;
  for (std::size_t j = 0; j < size_; ++j) {
    alphas_[j] = alpha;
    energy += energies_[j];
    alpha += energies_[j];
  }
  alphas_[size_] = alpha;
  return energy;
}

void Covariance::product(double* out) {
  triangle_functions().combine(columns_.data(), panels(), weights_.data(), out);
}

void Covariance::condition(double r, double* out) {
  if (alphas_[0] != r) add_up(0, r);
  shrink_variances(0);
  triangle_functions().condition(columns_.data(), panels(), weights_.data(), slopes_.data(), out);
}

void Covariance::add_up(std::size_t first, double alpha) {
  for (std::size_t j = first; j < size_; ++j) {
    alphas_[j] = alpha;
    alpha += energies_[j];
  }
  alphas_[size_] = alpha;
}

void Covariance::shrink_variances(std::size_t first) {
  triangle_functions().shrink_variances(size_ - first, alphas_.data() + first,
                                        projected_.data() + first, kLeastVariance,
                                        variances_.data() + first, slopes_.data() + first);
}

void Covariance::append(const double* d, double delta2) {
  const std::size_t j = size_;
  resize(j + 1);
  double* column = columns_.data() + start(j);
  for (std::size_t i = 0; i < j; ++i) column[i] = -d[i];
  column[j] = 1.0;
  variances_[j] = 1.0 / delta2;
}

void Covariance::project_unit(std::size_t i) {
  for (std::size_t j = 0; j < size_; ++j) projected_[j] = j < i ? 0.0 : columns_[start(j) + i];
  scale_by_variances();
}

void Covariance::column(std::size_t i, double* out) {
  project_unit(i);
  product(out);
}

void Covariance::remove(std::size_t i) {
  project_unit(i);
  // r = 0: nothing before column i matters, and after it alpha is D_i.
  for (std::size_t j = 0; j <= i; ++j) slopes_[j] = 0.0;
  add_up(i + 1, variances_[i]);
  shrink_variances(i + 1);
  triangle_functions().condition(columns_.data(), panels(), weights_.data(), slopes_.data(),
                                 projected_.data());
  const std::size_t last = size_ - 1;
  for (std::size_t j = i + 1; j <= last; ++j) {
    const double* from = columns_.data() + start(j);
    double* to = columns_.data() + start(j - 1);  // ends where `from` starts
    std::copy(from, from + i, to);
    std::copy(from + i + 1, from + j + 1, to + i);
    std::fill(to + j, to + height(j - 1), 0.0);
    variances_[j - 1] = variances_[j];
  }
  std::fill_n(columns_.data() + start(last), height(last), 0.0);
  variances_[last] = projected_[last] = weights_[last] = energies_[last] = slopes_[last] = 0.0;
  resize(last);
}

void Covariance::diagonal(double* out) const {
  std::fill_n(out, length(), 0.0);
  for (std::size_t j = 0; j < size_; ++j) {
    const double* column = columns_.data() + start(j);
    for (std::size_t i = 0; i <= j; ++i) out[i] += variances_[j] * (column[i] * column[i]);
  }
}

void Covariance::set_unit_column(std::size_t j, double variance) {
  double* column = columns_.data() + start(j);
  std::fill_n(column, height(j), 0.0);
  column[j] = 1.0;
  variances_[j] = variance;
}

// Column j moves to j + count, the last one first: it ends before the next one starts.
void Covariance::insert(std::size_t at, std::size_t count, double variance) {
  const std::size_t n = size_;
  resize(n + count);
  for (std::size_t j = n; j-- > at && count > 0;) {
    const double* from = columns_.data() + start(j);
    double* to = columns_.data() + start(j + count);
    std::copy(from, from + at, to);
    std::fill_n(to + at, count, 0.0);
    std::copy(from + at, from + j + 1, to + at + count);
    std::fill(to + j + count + 1, to + height(j + count), 0.0);
    variances_[j + count] = variances_[j];
  }
  for (std::size_t j = at; j < at + count; ++j) set_unit_column(j, variance);
}

void Covariance::set_variance(std::size_t i, double variance) { variances_[i] = variance; }

// The first column of U is e_0.
void Covariance::add_to_first(double variance) { variances_[0] += variance; }

void Covariance::keep_from(std::size_t first) {
  const std::size_t n = size_ - first;
  for (std::size_t j = 0; j < n; ++j) {
    const double* from = columns_.data() + start(j + first) + first;
    double* to = columns_.data() + start(j);
    std::copy(from, from + j + 1, to);
    std::fill(to + j + 1, to + height(j), 0.0);
    variances_[j] = variances_[j + first];
  }
  for (auto* vector : {&variances_, &projected_, &weights_, &energies_, &slopes_}) {
    std::fill(vector->begin() + static_cast<std::ptrdiff_t>(n), vector->end(), 0.0);
  }
  const std::size_t last = (n + kPanel - 1) / kPanel * kPanel;
  for (std::size_t j = n; j < last; ++j) std::fill_n(columns_.data() + start(j), height(j), 0.0);
  resize(n);
}

void Covariance::change(std::span<const UnitStep> steps) {
  const std::size_t first = std::min(steps.size(), size_);
  for (std::size_t j = 0; j < size_; ++j) {
    double* column = columns_.data() + start(j);
    const double by = j < first ? steps[j].ratio : 1.0;
    for (std::size_t i = 1; i < std::min(j + 1, first); ++i) {
      column[0] += steps[i].shift * column[i];
      if (i < j) column[i] *= steps[i].ratio / by;
    }
    if (j == 0 || j >= first) continue;
    column[0] /= by;
    variances_[j] = std::max(variances_[j] * (by * by), kLeastVariance);
  }
}

void Covariance::copy(const Covariance& other, std::size_t first, double variance) {
  if (first == 0) {
    resize(other.size_);
    std::copy(other.columns_.begin(), other.columns_.end(), columns_.begin());
    std::copy(other.variances_.begin(), other.variances_.end(), variances_.begin());
    return;
  }
  resize(first + other.size_);
  for (std::size_t j = 0; j < first; ++j) set_unit_column(j, variance);
  for (std::size_t j = 0; j < other.size_; ++j) {
    const double* from = other.columns_.data() + other.start(j);
    set_unit_column(first + j, other.variances_[j]);
    std::copy(from, from + j, columns_.data() + start(first + j) + first);
  }
}

void Covariance::set_capacity(std::size_t capacity) {
  const bool taken = columns_.capacity() > 0;
  if (capacity < capacity_) {
    for (auto* vector :
         {&columns_, &variances_, &projected_, &weights_, &energies_, &alphas_, &slopes_}) {
      vector->shrink_to_fit();
    }
  }
  capacity_ = capacity;
  if (taken && capacity_ <= kAtOnce) reserve();
}

void Covariance::free() { *this = Covariance(capacity_); }

void Covariance::visit_state(StateVisitor& visitor, const std::string& name) {
  if (visitor.mode() == StateVisitor::Mode::count) {
    for (const auto* vector :
         {&columns_, &variances_, &projected_, &weights_, &energies_, &alphas_, &slopes_}) {
      visitor.scratch(*vector);
    }
    return;
  }
  std::vector<double> packed;
  if (visitor.mode() == StateVisitor::Mode::save) {
    for (std::size_t j = 0; j < size_; ++j) {
      const double* column = columns_.data() + start(j);
      packed.insert(packed.end(), column, column + j);
      packed.push_back(variances_[j]);
    }
  }
  visitor.field(name, packed);
  if (visitor.mode() == StateVisitor::Mode::save) return;
  require(all_finite(packed), name);
  free();
  const double* from = packed.data();
  const double* const end = from + packed.size();
  for (std::size_t j = 0; from != end; ++j) {
    require(static_cast<std::size_t>(end - from) >= j + 1 && j != capacity_ && from[j] > 0.0, name);
    resize(j + 1);
    double* column = columns_.data() + start(j);
    std::copy(from, from + j, column);
    column[j] = 1.0;
    variances_[j] = from[j];
    from += j + 1;
  }
}

void Covariance::check_invariants() const {
  const auto fail = [](const char* what) {
    throw std::logic_error(std::string("covariance invariant broken: ") + what);
  };
  if (size_ > capacity_ || columns_.size() != panel_numbers(panels())) fail("its size");
  for (std::size_t j = 0; j < length(); ++j) {
    const double* column = columns_.data() + start(j);
    for (std::size_t i = 0; i < height(j); ++i) {
      if (!std::isfinite(column[i])) fail("a number is not finite");
      if (i >= j && column[i] != (i == j && j < size_ ? 1.0 : 0.0)) fail("U is not triangular");
    }
    if (j < size_ && !(variances_[j] > 0.0 && std::isfinite(variances_[j]))) {
      fail("it is not positive definite");
    }
    if (j >= size_ && variances_[j] != 0.0) fail("a variance of the padding is not 0");
  }
}

}  // namespace budgetron
