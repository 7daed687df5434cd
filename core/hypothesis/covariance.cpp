#include "hypothesis/covariance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "hypothesis/capacity.hpp"

namespace budgetron {
namespace {

// A variance that underflows to 0 would make P singular: this is the smallest one allowed.
constexpr double kLeastVariance = std::numeric_limits<double>::min();

// A ratio of units that a float cannot hold is clipped.
template <class Number>
Number bounded(double number) {
  constexpr auto most = static_cast<double>(std::numeric_limits<Number>::max()) / 1e8;
  return static_cast<Number>(std::clamp(number, -most, most));
}

}  // namespace

template <class Number>
void Covariance<Number>::reserve() {
  const std::size_t most = whole(capacity_);
  columns_.reserve(panel_numbers<Number>(most / panel));
  for (auto* vector : {&variances_, &energies_}) vector->reserve(most);
  for (auto* vector : {&projected_, &weights_, &slopes_}) vector->reserve(most);
  alphas_.reserve(most + 1);
}

template <class Number>
void Covariance<Number>::resize(std::size_t size) {
  if (columns_.capacity() == 0 && capacity_ <= kAtOnce) reserve();
  size_ = size;
  columns_.resize(panel_numbers<Number>(panels()), Number(0));
  for (auto* vector : {&variances_, &energies_}) vector->resize(length(), 0.0);
  for (auto* vector : {&projected_, &weights_, &slopes_}) vector->resize(length(), Number(0));
  alphas_.resize(length() + 1, 0.0);
}

template <class Number>
void Covariance<Number>::scale_by_variances() {
  triangle_functions<Number>().scale_by_variances(size_, projected_.data(), variances_.data(),
                                                  weights_.data(), energies_.data());
}

template <class Number>
double Covariance<Number>::project(const Number* k, double r) {
  if (size_ == 0) return 0.0;
  triangle_functions<Number>().project(columns_.data(), panels(), k, projected_.data());
  scale_by_variances();
  // Each sum is a chain of dependent additions: the two are interleaved.
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

template <class Number>
double Covariance<Number>::variance(const Number* k, Number* scratch) const {
  if (size_ == 0) return 0.0;
  triangle_functions<Number>().project(columns_.data(), panels(), k, scratch);
  double energy = 0.0;
  for (std::size_t j = 0; j < size_; ++j) {
    const double projected = static_cast<double>(scratch[j]);
    energy += static_cast<double>(variances_[j]) * (projected * projected);
  }
  return energy;
}

template <class Number>
void Covariance<Number>::product(Number* out) {
  triangle_functions<Number>().combine(columns_.data(), panels(), weights_.data(), out);
}

template <class Number>
void Covariance<Number>::condition(double r, Number* out) {
  if (alphas_[0] != r) add_up(0, r);
  shrink_variances(0);
  triangle_functions<Number>().condition(columns_.data(), panels(), weights_.data(), slopes_.data(),
                                         out);
}

template <class Number>
void Covariance<Number>::add_up(std::size_t first, double alpha) {
  for (std::size_t j = first; j < size_; ++j) {
    alphas_[j] = alpha;
    alpha += energies_[j];
  }
  alphas_[size_] = alpha;
}

template <class Number>
void Covariance<Number>::shrink_variances(std::size_t first) {
  triangle_functions<Number>().shrink_variances(size_ - first, alphas_.data() + first,
                                                projected_.data() + first, kLeastVariance,
                                                variances_.data() + first, slopes_.data() + first);
}

template <class Number>
void Covariance<Number>::append(const Number* d, double delta2) {
  const std::size_t j = size_;
  resize(j + 1);
  Number* column = columns_.data() + start(j);
  for (std::size_t i = 0; i < j; ++i) column[i] = -d[i];
  column[j] = Number(1);
  variances_[j] = 1.0 / delta2;
}

template <class Number>
void Covariance<Number>::project_unit(std::size_t i) {
  for (std::size_t j = 0; j < size_; ++j)
    projected_[j] = j < i ? Number(0) : columns_[start(j) + i];
  scale_by_variances();
}

template <class Number>
void Covariance<Number>::column(std::size_t i, Number* out) {
  project_unit(i);
  product(out);
}

template <class Number>
void Covariance<Number>::remove(std::size_t i) {
  project_unit(i);
  // r = 0: the columns before i do not change, and behind i alpha is D_i.
  for (std::size_t j = 0; j <= i; ++j) slopes_[j] = 0.0;
  add_up(i + 1, variances_[i]);
  shrink_variances(i + 1);
  triangle_functions<Number>().condition(columns_.data(), panels(), weights_.data(), slopes_.data(),
                                         projected_.data());
  const std::size_t last = size_ - 1;
  for (std::size_t j = i + 1; j <= last; ++j) {
    const Number* from = columns_.data() + start(j);
    Number* to = columns_.data() + start(j - 1);  // ends where `from` starts
    std::copy(from, from + i, to);
    std::copy(from + i + 1, from + j + 1, to + i);
    std::fill(to + j, to + height(j - 1), Number(0));
    variances_[j - 1] = variances_[j];
  }
  std::fill_n(columns_.data() + start(last), height(last), Number(0));
  clear_from(last);
  resize(last);
}

template <class Number>
void Covariance<Number>::diagonal(Number* out) const {
  std::fill_n(out, length(), Number(0));
  for (std::size_t j = 0; j < size_; ++j) {
    const Number* column = columns_.data() + start(j);
    const auto variance = static_cast<Number>(variances_[j]);
    for (std::size_t i = 0; i <= j; ++i) out[i] += variance * (column[i] * column[i]);
  }
}

template <class Number>
void Covariance<Number>::set_unit_column(std::size_t j, double variance) {
  Number* column = columns_.data() + start(j);
  std::fill_n(column, height(j), Number(0));
  column[j] = Number(1);
  variances_[j] = variance;
}

// Sets the per-column data from column `first` on to 0.
template <class Number>
void Covariance<Number>::clear_from(std::size_t first) {
  for (auto* vector : {&variances_, &energies_}) {
    std::fill(vector->begin() + static_cast<std::ptrdiff_t>(first), vector->end(), 0.0);
  }
  for (auto* vector : {&projected_, &weights_, &slopes_}) {
    std::fill(vector->begin() + static_cast<std::ptrdiff_t>(first), vector->end(), Number(0));
  }
}

// Column j moves to j + count, the last one first: it ends before the next one starts.
template <class Number>
void Covariance<Number>::insert(std::size_t at, std::size_t count, double variance) {
  const std::size_t n = size_;
  resize(n + count);
  for (std::size_t j = n; j-- > at && count > 0;) {
    const Number* from = columns_.data() + start(j);
    Number* to = columns_.data() + start(j + count);
    std::copy(from, from + at, to);
    std::fill_n(to + at, count, Number(0));
    std::copy(from + at, from + j + 1, to + at + count);
    std::fill(to + j + count + 1, to + height(j + count), Number(0));
    variances_[j + count] = variances_[j];
  }
  for (std::size_t j = at; j < at + count; ++j) set_unit_column(j, variance);
}

template <class Number>
void Covariance<Number>::set_variance(std::size_t i, double variance) {
  variances_[i] = variance;
}

// The first column of U is e_0.
template <class Number>
void Covariance<Number>::add_to_first(double variance) {
  variances_[0] += variance;
}

template <class Number>
void Covariance<Number>::keep_from(std::size_t first) {
  const std::size_t n = size_ - first;
  for (std::size_t j = 0; j < n; ++j) {
    const Number* from = columns_.data() + start(j + first) + first;
    Number* to = columns_.data() + start(j);
    std::copy(from, from + j + 1, to);
    std::fill(to + j + 1, to + height(j), Number(0));
    variances_[j] = variances_[j + first];
  }
  clear_from(n);
  for (std::size_t j = n; j < whole(n); ++j) {
    std::fill_n(columns_.data() + start(j), height(j), Number(0));
  }
  resize(n);
}

template <class Number>
void Covariance<Number>::change(std::span<const UnitStep> steps) {
  const std::size_t first = std::min(steps.size(), size_);
  for (std::size_t j = 0; j < size_; ++j) {
    Number* column = columns_.data() + start(j);
    const double by = j < first ? steps[j].ratio : 1.0;
    auto constant = static_cast<double>(column[0]);
    for (std::size_t i = 1; i < std::min(j + 1, first); ++i) {
      constant += steps[i].shift * static_cast<double>(column[i]);
      if (i < j)
        column[i] = bounded<Number>(static_cast<double>(column[i]) * (steps[i].ratio / by));
    }
    if (j > 0) column[0] = bounded<Number>(j < first ? constant / by : constant);
    if (j == 0 || j >= first) continue;
    variances_[j] = std::max(variances_[j] * (by * by), kLeastVariance);
  }
}

template <class Number>
void Covariance<Number>::copy(const Covariance& other, std::size_t first, double variance) {
  if (first == 0) {
    resize(other.size_);
    std::copy(other.columns_.begin(), other.columns_.end(), columns_.begin());
    std::copy(other.variances_.begin(), other.variances_.end(), variances_.begin());
    return;
  }
  resize(first + other.size_);
  for (std::size_t j = 0; j < first; ++j) set_unit_column(j, variance);
  for (std::size_t j = 0; j < other.size_; ++j) {
    const Number* from = other.columns_.data() + other.start(j);
    set_unit_column(first + j, other.variances_[j]);
    std::copy(from, from + j, columns_.data() + start(first + j) + first);
  }
}

template <class Number>
void Covariance<Number>::set_capacity(std::size_t capacity) {
  const bool taken = columns_.capacity() > 0;
  if (capacity < capacity_) {
    for (auto* vector : {&variances_, &energies_, &alphas_}) vector->shrink_to_fit();
    for (auto* vector : {&columns_, &projected_, &weights_, &slopes_}) vector->shrink_to_fit();
  }
  capacity_ = capacity;
  if (taken && capacity_ <= kAtOnce) reserve();
}

template <class Number>
void Covariance<Number>::free() {
  *this = Covariance(capacity_);
}

template <class Number>
void Covariance<Number>::visit_state(StateVisitor& visitor, const std::string& name) {
  if (visitor.mode() == StateVisitor::Mode::count) {
    for (const auto* vector : {&variances_, &energies_, &alphas_}) visitor.scratch(*vector);
    for (const auto* vector : {&columns_, &projected_, &weights_, &slopes_}) {
      visitor.scratch(*vector);
    }
    return;
  }
  std::vector<double> packed;
  if (visitor.mode() == StateVisitor::Mode::save) {
    for (std::size_t j = 0; j < size_; ++j) {
      const Number* column = columns_.data() + start(j);
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
    Number* column = columns_.data() + start(j);
    for (std::size_t i = 0; i < j; ++i) column[i] = bounded<Number>(from[i]);
    column[j] = Number(1);
    variances_[j] = from[j];
    from += j + 1;
  }
}

template <class Number>
void Covariance<Number>::check_invariants() const {
  const auto fail = [](const char* what) {
    throw std::logic_error(std::string("covariance invariant broken: ") + what);
  };
  if (size_ > capacity_ || columns_.size() != panel_numbers<Number>(panels())) fail("its size");
  for (std::size_t j = 0; j < length(); ++j) {
    const Number* column = columns_.data() + start(j);
    for (std::size_t i = 0; i < height(j); ++i) {
      if (!std::isfinite(column[i])) fail("a number is not finite");
      if (i >= j && column[i] != Number(i == j && j < size_ ? 1 : 0)) fail("U is not triangular");
    }
    if (j < size_ && !(variances_[j] > 0.0 && std::isfinite(variances_[j]))) {
      fail("it is not positive definite");
    }
    if (j >= size_ && variances_[j] != 0.0) fail("a variance of the padding is not 0");
  }
}

template class Covariance<float>;
template class Covariance<double>;

}  // namespace budgetron
